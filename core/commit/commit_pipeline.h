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
// devices are durable. The other copies go out at the same time; until they are durable, too, the
// group is in flight: durable_, the watermark and the space do not move. For readers it is as if
// the commits were buffered. Without a fast device all copies count.
//
// What failed pauses the pipeline: nothing is sealed or acknowledged until the owner has changed
// the membership (R13) or given up (R12), see `repair`. A failed flush fails all devices of its
// flush domain, for as long as the store is open (R11).
//
// Invariants
//   C1  in_flight_ is in LSN order without gaps; durable_ is the last LSN before it
//   C2  a callback runs once, in LSN order per group; after publish() of its transaction, but for
//       answers before all copies are durable
//   C3  recorded_ <= durable_, and some durable log block carries recorded_ (R9)
//   C4  the log has room for everything enqueued, for the payloads of the group that is being
//       sealed, and for the records that pack all payloads: none of them waits for a trim. Fences
//       and watermarks, which have no room set aside, come out of the log's reserve and end where
//       it would be needed for that: watermarks at its half, fences at a quarter, which openings
//       have
//   C5  one group is sealed at a time, so groups get their places in the log in the order of LSNs
//   C6  durable_ <= answered_ <= visible_ < next_lsn_; visible_ never goes back. Everything up to
//       visible_ can be read: its blobs are known to LogBlobs or InFlightCells from before it could
//   C7  of cells that go out together with their log block, whose recovery has to prove them, at
//       most kMaxUnproven bytes are in flight (R8); other groups write their cells first
//   C14 an open group waits for company only while another one is not answered, while callers of
//       answered ones may come again (expected_), and while it has fewer members than there are
//       callers in the others and expected: a small group takes a round of I/O, too, so half of all
//       go out while the other half is under way. It is sealed when the other one is answered,
//       which it has to wait for anyway, so it is later by a round of its own at most. Nothing
//       waits so that sync(), a checkpoint, whoever makes room or another commit waits for
//       (urgent_)
//   C15 who is called back (io/recall.h) while it waits for requests of a group takes nothing away
//       and answers nobody: a thread of its own, a substitute, does what was left to do, as the
//       leader would have. Where the system refuses that thread, the leader stays
//
// A buffered commit makes itself, and so everything below it, visible when it is enqueued. Its
// group is sealed when somebody wants it durable (wanted_), when it is large, or when the owner's
// timer says so (request_durable). When the pipeline stops with visible_ above durable_, what is
// between may be lost: it stays readable until the store is closed, and lost_buffered() says so
// (R15).
//
// What is between two holds of the lock, a group that is being sealed or written say, is no more
// for an exception to leave than what the lock guards (io/no_unwinding.h).
//
// Lock order: sequencer -> pipeline -> space. The pipeline's lock is never held across I/O.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "core/api/commit_callback.h"
#include "core/api/commit_options.h"
#include "core/api/options.h"
#include "core/blob/blob_prepare.h"
#include "core/blob/in_flight_cells.h"
#include "core/commit/flush_gate.h"
#include "core/commit/log_room.h"
#include "core/commit/lsn_waiters.h"
#include "core/commit/stripe_placer.h"
#include "core/record/log_record.h"
#include "core/record/shape.h"
#include "core/space/members.h"
#include "core/space/space.h"
#include "core/stats/counters.h"
#include "io/executor.h"
#include "io/no_unwinding.h"
#include "kv/log/log_writer.h"

namespace hexad::core {

// Payload of one packing record, bytes: bounds its cells in memory.
inline constexpr std::uint64_t kPackBytes = 16 << 20;
// Commits that write so many bytes are worth a round of I/O of their own, though nobody waits.
inline constexpr std::uint64_t kLargeGroup = 1 << 20;

// A transaction with its place in the order.
struct Submission {
  Lsn lsn = 0;
  LogRecord record;
  std::string encoded;  // the record without the group's part
  std::string sealed;   // all of it
  std::vector<StripeWrite> stripes;
  std::vector<UnplacedBlob> unplaced;  // the group decides about their places
  std::vector<GivenPack> packs;        // but for those of `unplaced` that these have places for
  std::uint64_t reserved = 0;          // bytes of the ring set aside
  Durability durability = Durability::kDurable;
  // On the way here; negative: a transaction of the engine's own, not timed.
  io::Nanos began = -1;     // commit() or submit() was called
  io::Nanos admitted = -1;  // its bytes may be in flight
  io::Nanos queued = -1;    // enqueue()
  CommitCallback done;      // when durable; may be empty
  // Let go of when the transaction is over, before `done` runs: callbacks may wait for others.
  std::shared_ptr<void> budget;
};

struct CommitGroup;

// Requests of one group that go out together; the flushes that follow are shared with others.
struct Round : FlushWaiter {
  CommitGroup* group = nullptr;
  io::IoBatch batch;
  bool over = false;  // every request and every flush has its outcome; true when there are none
};

struct CommitGroup {
  std::vector<Submission> members;
  kv::PreparedBlock block;
  Round ahead;                 // cells that are durable before anything else begins; mostly empty
  Round main;                  // cells and log blocks that the answer waits for
  Round behind;                // log blocks that it does not wait for: LogDurability::kFast
  std::uint64_t unproven = 0;  // bytes of cells that go out together with the log block
  std::size_t callers = 0;     // members whose callers wait for it: not buffered ones
  bool answered = false;
  io::Nanos taken_at = 0;    // its members left the open group
  io::Nanos written_at = 0;  // the writes of main were complete
  io::Nanos over_at = 0;     // and its flushes
  io::Nanos answered_at = 0;

  bool io_done() const { return main.over && behind.over; }
  Lsn last_lsn() const { return members.empty() ? block.point().lsn : members.back().lsn; }
};

enum class Waiting : std::uint8_t { kBlocking, kCallback };

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
  Lsn visible() const { return visible_.load(std::memory_order_acquire); }
  // The pipeline has stopped and some visible commits are not durable: the first and the last.
  struct Lost {
    Lsn first = 0;
    Lsn last = 0;
  };
  std::optional<Lost> lost_buffered();
  Lsn recorded();
  std::uint64_t log_used();
  std::uint64_t log_capacity();
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
  // Called with the pipeline's lock free after durable_ has moved.
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
  const kv::LogWriter& log() HEXAD_NO_THREAD_SAFETY_ANALYSIS { return log_; }
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

  // Runs `task` on a pool thread; the pipeline does not end before it has run.
  void post(io::Task task);
  // Waits until nothing is in flight and every posted task has run. Before the pipeline is
  // destroyed.
  void wait_idle();

 private:
  Error leave_commit(Lsn lsn);
  // Seals the next group, when the pipeline is as may_seal() says; null when it is not, any more.
  CommitGroup* seal();
  std::vector<Submission> take_members() HEXAD_REQUIRES(mutex_);
  // The places of the members' unplaced blobs, into the record of the first. Without the lock.
  Status place_unplaced(std::vector<Submission>& members, std::uint64_t payload_room);
  void give_up(std::vector<Submission> members, const Error& why);
  void fail_members(std::vector<Submission>& members, const Error& why) HEXAD_REQUIRES(mutex_);
  // What a group's payloads may take of the log, and what is set aside for that; bytes.
  struct PayloadRoom {
    std::uint64_t payload = 0;
    std::uint64_t held = 0;
  };
  PayloadRoom hold_payload_room(const std::vector<Submission>& members) HEXAD_REQUIRES(mutex_);
  std::uint64_t packing_room(std::uint64_t payload, std::uint64_t places) const
      HEXAD_REQUIRES(mutex_);
  std::uint64_t record_limit() const HEXAD_REQUIRES(mutex_);
  CommitGroup* admit(kv::PreparedBlock block, std::vector<Submission> members, io::Nanos taken_at)
      HEXAD_REQUIRES(mutex_);
  bool is_idle() const HEXAD_REQUIRES(mutex_);
  Result<CommitGroup*> admit_watermark() HEXAD_REQUIRES(mutex_);
  void choose_modes(std::vector<io::IoRequest>& requests);
  void run(CommitGroup* group, Waiting waiting);
  void run_main(CommitGroup& group, Waiting waiting);
  void start(Round& round, Waiting waiting);
  static bool run_unless_recalled(io::IoBatch& batch, io::IoQueue& queue);
  static bool wait_unless_recalled(io::IoBatch& batch, io::IoQueue& queue);
  bool substitute(io::Task rest);
  void written(Round& round, Waiting waiting);
  // Flushes of this thread, from `next` on.
  struct OwnFlushes {
    std::vector<FlushNeed> needs;
    std::vector<io::IoBatch> batches;  // one for each; never moved one by one
    std::size_t next = 0;
    bool submitted = false;  // they are under way
  };
  void flush_here(std::vector<FlushNeed> needs);
  void end_flushes(OwnFlushes own);
  void complete_less();
  void send_flush(const FlushNeed& need);
  void flushed(FlushDomain domain, const Status& status);
  void complete(Round& round, Waiting waiting);
  void advance() HEXAD_REQUIRES(mutex_);
  std::size_t callers_under_way() const HEXAD_REQUIRES(mutex_);
  void answer(CommitGroup& group, std::vector<std::pair<CommitCallback, Lsn>>& callbacks)
      HEXAD_REQUIRES(mutex_);
  void note_times(const CommitGroup& group);
  void note_size(const CommitGroup& group);
  bool has_slot() const HEXAD_REQUIRES(mutex_);
  void task_over();
  bool may_seal() const HEXAD_REQUIRES(mutex_);
  bool waits_for_company() const HEXAD_REQUIRES(mutex_);
  void raise_visible(Lsn lsn) HEXAD_REQUIRES(mutex_);
  std::uint64_t room_for(std::uint64_t bytes) const HEXAD_REQUIRES(mutex_);
  bool has_room(std::uint64_t room, LogRoom from = LogRoom::kCommon) const HEXAD_REQUIRES(mutex_);
  std::uint64_t kept_for_packing() const HEXAD_REQUIRES(mutex_);
  Status check_reserve(std::uint64_t parts_left) const HEXAD_REQUIRES(mutex_);

  io::Executor& executor_;
  const StoreShape& shape_;
  Members& members_;
  Space& space_;
  LogBlobs& log_blobs_;
  InFlightCells& in_flight_cells_;
  const StripePlacer& placer_;
  Counters& counters_;
  LogDurability log_durability_;
  std::function<void()> repair_;
  std::function<void()> progress_;

  io::Mutex mutex_;
  io::CondVar changed_;
  kv::LogWriter log_ HEXAD_GUARDED_BY(mutex_);
  // After stop(): what visible_ may still need.
  std::vector<Submission> open_ HEXAD_GUARDED_BY(mutex_);
  std::uint64_t open_bytes_ HEXAD_GUARDED_BY(mutex_) = 0;  // of it, to be written
  // Bytes of the ring set aside and not sealed yet.
  std::uint64_t reserved_ HEXAD_GUARDED_BY(mutex_) = 0;
  std::deque<std::unique_ptr<CommitGroup>> in_flight_ HEXAD_GUARDED_BY(mutex_);
  std::uint64_t unproven_ HEXAD_GUARDED_BY(mutex_) = 0;  // of all groups in flight
  FlushGate gate_ HEXAD_GUARDED_BY(mutex_);
  std::multimap<Lsn, std::function<void(Status)>> waiters_ HEXAD_GUARDED_BY(mutex_);
  LsnWaiters sleepers_ HEXAD_GUARDED_BY(mutex_);  // in wait_durable()
  Lsn next_lsn_ HEXAD_GUARDED_BY(mutex_) = 1;
  Lsn in_log_ HEXAD_GUARDED_BY(mutex_) = 0;  // has its place there
  Lsn durable_ HEXAD_GUARDED_BY(mutex_) = 0;
  Lsn answered_ HEXAD_GUARDED_BY(mutex_) = 0;  // durable_, or behind.over is missing
  Lsn recorded_ HEXAD_GUARDED_BY(mutex_) = 0;
  Lsn wanted_ HEXAD_GUARDED_BY(mutex_) = 0;  // somebody waits until this is durable
  Lsn urgent_ HEXAD_GUARDED_BY(mutex_) = 0;  // and up to here without company (C14)
  // C14: callers of answered groups who have not enqueued since.
  std::size_t expected_ HEXAD_GUARDED_BY(mutex_) = 0;
  std::atomic<Lsn> visible_{0};  // written under the lock
  int pauses_ HEXAD_GUARDED_BY(mutex_) = 0;
  // Somebody is between taking a group's members and admitting it.
  bool sealing_ HEXAD_GUARDED_BY(mutex_) = false;
  // Of pump_beside(): its task has not begun yet.
  bool pump_posted_ HEXAD_GUARDED_BY(mutex_) = false;
  bool payloads_allowed_ HEXAD_GUARDED_BY(mutex_) = true;
  bool repair_pending_ HEXAD_GUARDED_BY(mutex_) = false;  // one of the pauses is repair()'s
  std::uint64_t posted_ HEXAD_GUARDED_BY(mutex_) = 0;     // tasks that have not run yet
  struct Substitute {
    std::unique_ptr<io::Thread> thread;
    bool over = false;  // it does nothing more but end
  };
  // Joined by the next one when they are over, or wait_idle().
  std::list<Substitute> substitutes_ HEXAD_GUARDED_BY(mutex_);
  // Threads inside written(), flushed() or complete(), or that start a substitute.
  std::uint64_t completing_ HEXAD_GUARDED_BY(mutex_) = 0;
  std::optional<Error> stopped_ HEXAD_GUARDED_BY(mutex_);
  std::atomic<bool> has_stopped_{false};  // the same, without the lock
};

}  // namespace hexad::core
