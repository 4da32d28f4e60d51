// The commit pipeline: transactions that have their LSN become groups, a group becomes one round of
// I/O (data cells and log blocks together), and groups are acknowledged in order.
//
//   enqueue()      open group      seal: one log block     in flight            durable, in order
//   --------->  [ t7 t8 t9 ... ] ------------------------> {t4 t5} {t6 ...} ---> publish, callbacks
//
// Leader and followers: a blocking caller that finds nobody sealing seals the open group itself,
// submits it and waits for its I/O on its own thread; whoever comes meanwhile joins the next group.
// Groups sealed for callers that do not wait are completed by the thread that reaps the I/O.
//
// A group is durable when all of its requests have succeeded, so have the flushes that began after
// its plain writes had completed (core/commit/flush_gate.h), and all groups before it are durable
// (R3). LogDurability::kFast answers a group when its cells and the copies of its log block on fast
// devices are durable, and those that are no later: in memory, or in one cache with what it waits
// for anyway. The other copies go out at the same time; until they are durable, too, the group is
// in flight: it is not durable, and the watermark and the space do not move. For readers it is as
// if the commits were buffered. Without a fast device all copies count.
//
// What failed pauses the pipeline: nothing is sealed or acknowledged until the owner has changed
// the membership (R13) or given up (R12), see `repair`. A failed flush fails all devices of its
// flush domain, for as long as the store is open (R11).
//
// Each part answers one question, under the pipeline's lock. Without it run CommitRounds, which
// takes it, and what GroupRecords does to submissions that are nobody else's yet:
//
//   OpenGroup        when is what has been enqueued a group that goes out? (C5, C14)
//   CommitLog        is there room in the log? (C4)
//   GroupRecords     what do its blobs and records mean to the rest of the store?
//   GroupRequests    what does it ask of devices, and in which order? (C7)
//   CommitRounds     who sends that, and waits for it? Substitutes (C15), FlushGate
//   GroupsInFlight   what is under way, and may there be more? (C1)
//   CommitPositions  how far has it all come? (C3, C6)
//   CommitAnswers    who is told? (C2)
//   PipelineState    does it go on?
//   PipelineTasks    what does its end wait for?
//
// A buffered commit makes itself, and so everything below it, visible when it is enqueued. Its
// group is sealed when somebody wants it durable, when it is large, or when the owner's
// timer says so (request_durable). When the pipeline stops with more visible than durable, what is
// between may be lost: it stays readable until the store is closed, and lost_buffered() says so
// (R15).
//
// What is between two holds of the lock, a group that is being sealed or written say, is no more
// for an exception to leave than what the lock guards (io/no_unwinding.h).
//
// Lock order: sequencer -> pipeline -> space. The pipeline's lock is never held across I/O.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "base/error.h"
#include "core/api/options.h"
#include "core/blob/in_flight_cells.h"
#include "core/commit/commit_answers.h"
#include "core/commit/commit_group.h"
#include "core/commit/commit_log.h"
#include "core/commit/commit_positions.h"
#include "core/commit/commit_rounds.h"
#include "core/commit/group_records.h"
#include "core/commit/group_requests.h"
#include "core/commit/groups_in_flight.h"
#include "core/commit/log_room.h"
#include "core/commit/lsn_waiters.h"
#include "core/commit/open_group.h"
#include "core/commit/pipeline_state.h"
#include "core/commit/pipeline_tasks.h"
#include "core/commit/stripe_placer.h"
#include "core/record/shape.h"
#include "core/space/members.h"
#include "core/space/space.h"
#include "core/stats/counters.h"
#include "io/executor.h"
#include "kv/log/log_buffers.h"
#include "kv/log/log_writer.h"

namespace hexad::core {

class CommitPipeline {
 public:
  // All outlive the pipeline. `repair` is called, and returns at once, when a request has failed,
  // once per pause; it calls resume() or stop() in the end.
  CommitPipeline(io::Executor& executor, const StoreShape& shape, Members& members, Space& space,
                 LogBlobs& log_blobs, InFlightCells& in_flight_cells, const StripePlacer& placer,
                 Counters& counters, kv::LogWriter log, LogDurability log_durability,
                 std::function<void()> repair);

  // --- the path of a transaction ---

  // Sets room in the log aside for the submission's record; false when there is none at present.
  // Under the sequencer's lock. Errors: kTooBig (never fits), the reason the pipeline has stopped.
  Result<bool> try_reserve(Submission& submission, LogRoom from = LogRoom::kCommon);
  // The most bytes that the submission's record can have when its group is sealed, payloads apart.
  std::uint64_t record_bound(const Submission& submission) const;
  // Whether a record of `bytes` would fit now. When not, a checkpoint has to trim the log.
  bool has_room_for(std::uint64_t bytes);
  // The LSN that the next submission has to carry. Under the sequencer's lock.
  Lsn next_lsn();
  // Takes a transaction whose room is reserved; in LSN order, under the sequencer's lock. When the
  // pipeline stops, it fails like all that is pending. A buffered one is visible from here on.
  void enqueue(Submission submission);
  // Seals what is open if somebody wants it durable, or it is large, and the pipeline has room for
  // another group (C14).
  void pump();
  // Returns when the record of `lsn` has its place in the log: the record of whatever is placed
  // from then on stands behind it, and is durable only if it is (A10). Seals what may be sealed
  // meanwhile; waits for devices only where as many groups are in flight as may be, and for changes
  // of membership. Errors: the reason the pipeline has stopped; then nothing is placed any more.
  Status wait_in_log(Lsn lsn);
  // The same as pump() on a pool thread, for whoever has something better to do meanwhile: to
  // prepare the next commit. Coding a group of many small objects takes about as long as preparing
  // it.
  void pump_beside();
  // Somebody wants everything durable that has an LSN.
  void request_durable();
  // Whoever waits for `lsn` next waits for what others do: no company comes of it (C14).
  void hurry(Lsn lsn);
  // Everything up to `lsn` may be read from now on, as after a buffered commit with that LSN.
  // Errors: the reason the pipeline has stopped, when it is not visible.
  Status make_visible(Lsn lsn);
  // Returns when `lsn` is durable, leading groups meanwhile. Errors: the reason the pipeline
  // stopped. kAnswered: as durable as a commit that is answered, which is less with
  // LogDurability::kFast; its group may wait for company (C14). kUnavailable where the thread is
  // called back (C15).
  Status wait_durable(Lsn lsn, LsnWaiters::Until until = LsnWaiters::Until::kDurable);
  // Until `lsn` is durable or the pipeline has stopped (true), or for `limit`. Waits for no device
  // itself.
  bool wait_durable_for(Lsn lsn, io::Nanos limit);
  // Runs `done` when `lsn` is answered, sealing up to there what can be sealed, or with the reason
  // the pipeline has stopped (R14).
  void when_durable(Lsn lsn, std::function<void(Status)> done);
  // Writes an empty block that records the present watermark (R9), and waits for it. No-op when
  // it is recorded already, when a block is coming that will record it, and while the pipeline is
  // paused. Errors: kNoSpace (C4; a checkpoint records it as well), the reason the pipeline has
  // stopped.
  Status record_watermark();
  // Returns when a durable block, or a root, carries a watermark of at least `lsn`. Seals what is
  // open, or writes an empty block where nothing is. Waits for at most one group more than are in
  // flight, and for changes of membership. Precondition: `lsn` is durable. Errors: as
  // record_watermark().
  Status wait_recorded(Lsn lsn);

  Lsn durable();
  // The state that readers see. Any thread, no lock.
  Lsn visible() const HEXAD_NO_THREAD_SAFETY_ANALYSIS { return positions_.visible(); }
  // The pipeline has stopped and some visible commits are not durable: the first and the last.
  struct Lost {
    Lsn first = 0;
    Lsn last = 0;
  };
  std::optional<Lost> lost_buffered();
  Lsn recorded();
  std::uint64_t log_used();
  std::uint64_t log_capacity() const { return log_capacity_; }
  // Largest record that a transaction may have, bytes.
  std::uint64_t max_record();
  // How long a record may get that says where packed payloads are, bytes (C4).
  std::uint64_t max_packing_record();
  Epoch epoch();

  // --- for checkpoints, under the sequencer's lock ---

  // From the next group on no unplaced blobs ride in the log, until they may again. A checkpoint
  // gives every blob that does a place first, and wants no more of them meanwhile.
  void pause_payloads();
  void resume_payloads();
  // Everything assigned is durable when this returns. Errors: the reason the pipeline has stopped.
  Status drain();
  kv::LogPoint point_at(Lsn lsn);
  void trim(const kv::LogPoint& point);
  // A root that carries `watermark` is durable: as good as a block that does.
  void note_recorded(Lsn watermark);
  // Called with the pipeline's lock free after durable() has moved.
  void set_progress_handler(std::function<void()> handler) { progress_ = std::move(handler); }

  // --- for changes of membership: the pipeline is paused, nothing is sealed ---

  // As after a failed request, but without calling repair(). Pauses add up; each ends with one
  // resume().
  void pause();

  // Waits until no request is in flight.
  void wait_quiet();
  // Requests of the groups in flight that were refused, and not by their devices' fault
  // (io/refused.h). Precondition: paused and quiet; then they may go out again.
  std::vector<io::IoRequest*> refused_requests();
  // Devices that failed requests of the groups in flight, and those of domains whose flush failed.
  std::set<DeviceId> failed_devices();
  // While paused and quiet, by the one who changes the membership: nobody else changes it then,
  // since trim() is called under the membership's lock, too.
  const kv::LogWriter& log() HEXAD_NO_THREAD_SAFETY_ANALYSIS { return log_.writer(); }
  // The copies to write from now on, and the fence that begins `epoch` there, behind the last
  // block. Errors: kInvalidArgument, kNoSpace.
  Result<kv::PreparedBlock> begin_epoch(std::vector<kv::LogArea> areas, Epoch epoch);
  // The groups in flight have what they need: when no pause is left, publish and acknowledge them
  // and go on.
  void resume();
  // The same for the pause of the call to repair().
  void repaired();
  // Fails everything that is not durable with `why`, for ever.
  void stop(const Error& why);
  // No lock while it has not.
  std::optional<Error> stopped();

  // --- for CommitRounds ---

  // Every request and every flush of the round has its outcome. Without the lock.
  void complete(Round& round, Waiting waiting);

  // --- tasks of its own, and its end ---

  // Runs `task` on a pool thread; the pipeline does not end before it has run.
  void post(io::Task task);
  // Waits until nothing is in flight and every posted task has run. Before the pipeline is
  // destroyed.
  void wait_idle();

 private:
  bool has_stopped() const HEXAD_NO_THREAD_SAFETY_ANALYSIS { return state_.has_stopped(); }
  Error leave_commit(Lsn lsn);
  // Seals the next group, when the pipeline is as may_seal() says; null when it is not, any more.
  CommitGroup* seal();
  void give_up(std::vector<Submission> members, const Error& why);
  void fail_members(std::vector<Submission>& members, const Error& why) HEXAD_REQUIRES(mutex_);
  CommitGroup* admit(kv::PreparedBlock block, std::vector<Submission> members, io::Nanos taken_at)
      HEXAD_REQUIRES(mutex_);
  bool is_idle() const HEXAD_REQUIRES(mutex_);
  Result<CommitGroup*> admit_watermark() HEXAD_REQUIRES(mutex_);
  void advance(LsnWaiters::WakeUp& wake_up) HEXAD_REQUIRES(mutex_);
  void answer(CommitGroup& group, CommitAnswers::Due& due) HEXAD_REQUIRES(mutex_);
  void task_over();
  bool may_seal() const HEXAD_REQUIRES(mutex_);
  bool waits_for_company() const HEXAD_REQUIRES(mutex_);

  io::Executor& executor_;
  const GroupRecords records_;
  const GroupRequests requests_;
  const std::function<void()> repair_;
  std::function<void()> progress_;

  io::Mutex mutex_;
  io::CondVar changed_;
  const std::uint64_t log_capacity_;
  kv::LogBuffers buffers_;         // of any thread
  GroupRecords::Scratch scratch_;  // of whoever seals (C5)
  CommitLog log_ HEXAD_GUARDED_BY(mutex_);
  CommitPositions positions_ HEXAD_GUARDED_BY(mutex_);
  OpenGroup open_ HEXAD_GUARDED_BY(mutex_);  // after stop(): what is visible may still need it
  GroupsInFlight in_flight_ HEXAD_GUARDED_BY(mutex_);
  CommitAnswers answers_ HEXAD_GUARDED_BY(mutex_);
  PipelineState state_ HEXAD_GUARDED_BY(mutex_);
  PipelineTasks tasks_ HEXAD_GUARDED_BY(mutex_);
  CommitRounds rounds_;
};

}  // namespace hexad::core
