// The engine behind Store: owns the parts of one open store and carries transactions and reads
// through them. The files named engine_*.cc hold one concern each.
//
// Lock order: doc/invariants.md.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/error.h"
#include "compression/compressor.h"
#include "core/api/commit_options.h"
#include "core/api/options.h"
#include "core/api/pinned_bytes.h"
#include "core/blob/blob_prepare.h"
#include "core/blob/blob_read.h"
#include "core/blob/in_flight_cells.h"
#include "core/cache/open_readers.h"
#include "core/cache/page_memory.h"
#include "core/cache/read_cache.h"
#include "core/cache/read_pins.h"
#include "core/clean/cleaner.h"
#include "core/commit/commit_pipeline.h"
#include "core/commit/internal_commits.h"
#include "core/commit/stripe_placer.h"
#include "core/control/control_server.h"
#include "core/devices/devices.h"
#include "core/engine/reports.h"
#include "core/job/closing.h"
#include "core/job/errands.h"
#include "core/job/job_scheduler.h"
#include "core/jobs/checkpoint_job.h"
#include "core/jobs/checkpointer.h"
#include "core/jobs/clean_job.h"
#include "core/jobs/close_job.h"
#include "core/jobs/damage_job.h"
#include "core/jobs/deletion_job.h"
#include "core/jobs/index_job.h"
#include "core/jobs/repair_job.h"
#include "core/jobs/seal_job.h"
#include "core/jobs/zone_job.h"
#include "core/membership/device_history.h"
#include "core/membership/membership.h"
#include "core/membership/silent_devices.h"
#include "core/metadata/metadata.h"
#include "core/opening/store_parts.h"
#include "core/plan/staged_object.h"
#include "core/read/store_reader.h"
#include "core/record/shape.h"
#include "core/runs/run_catalogue.h"
#include "core/runs/run_mergers.h"
#include "core/space/log_blobs.h"
#include "core/space/members.h"
#include "core/space/space.h"
#include "core/stats/counters.h"
#include "core/transact/commit_path.h"
#include "core/transact/id_source.h"
#include "core/transact/order.h"
#include "core/transact/own_commits.h"
#include "core/transact/reclaimer.h"
#include "core/transact/write_gate.h"
#include "core/transact/zone_maker.h"
#include "ec/codec.h"
#include "io/fork_mark.h"
#include "io/system.h"
#include "kv/index.h"
#include "kv/tiered/tiered_index.h"

namespace hexad::core {

// Of pages of extents, 16 MiB of memory.
inline constexpr std::size_t kRememberedExtents = std::size_t{1} << 16;

class Engine {
 public:
  explicit Engine(StoreParts parts);
  ~Engine();
  // Starts all threads there will be and takes back what crashed writers left. Once, after
  // creation. Errors: those of commits; the system refuses a thread.
  Status start();
  // Ends with kUnavailable when a device has owed an answer for io::kReadPatience, and goes on
  // beside: who calls it again waits again.
  Status close();
  // Whether the destructor will come to an end. Waits while a device is silent, for as long as
  // close() does; where it is false nothing of this may be destroyed.
  bool may_end();

  // --- commits (core/transact) ---
  Result<Lsn> commit(Transaction&& transaction, const CommitOptions& options = {});
  void submit(Transaction&& transaction, const CommitCallback& done, const CommitOptions& options);
  Status sync();
  bool waits_for_devices() const { return silent_->any_soon(); }
  // Precondition of these, of devices() and of stored_hint(): the store is not open for reading
  // alone, of which writable() says so.
  InternalCommits& own_commits() {
    HEXAD_ASSERT(own_commits_ != nullptr &&
                 "a store that is open for reading alone commits nothing");
    return *own_commits_;
  }
  StreamRoom& stream_room() {
    HEXAD_ASSERT(commit_path_ != nullptr &&
                 "a store that is open for reading alone has no writers");
    return commit_path_->stream_room();
  }
  IdSource& ids() { return ids_; }

  // --- reads ---
  StoreReader& reads() { return *reads_; }
  OpenReaders& readers() { return readers_; }
  // Asks for a checkpoint where a page passes over many deleted names (engine_list.cc).
  Result<ListPage> list(std::string_view collection, const ListOptions& options);

  // --- background (engine_progress.cc) ---
  Status checkpoint();

  // --- looking, and putting right (engine_reports.cc makes them) ---
  Fsck& fsck() { return *reports_.fsck; }
  Scrubber& scrubber() { return *reports_.scrubber; }
  KnownDamage& damage() { return *reports_.damage; }
  const StatusReport& status_report() const { return *reports_.status; }
  SpaceReport& space_report() { return *reports_.space; }
  CounterReport& counter_report() { return *reports_.counters; }
  std::vector<EffectiveOption> effective_options() const;
  Status set_cache_size(std::uint64_t bytes);

  // Precondition: writable().
  Devices& devices() {
    HEXAD_ASSERT(devices_ != nullptr &&
                 "a store that is open for reading alone changes no devices");
    return *devices_;
  }
  Status serve_control();  // engine_control.cc

  // --- for streams ---
  const StoreShape& shape() const { return *parts_.shape; }
  const RuntimeOptions& options() const { return parts_.options; }
  const BlobPreparer& preparer() const { return *preparer_; }
  const BlobReader& blob_reader() const { return *reader_; }
  Space& space() { return *parts_.space; }
  Counters& stats() { return *parts_.counters; }
  io::Executor& executor() { return parts_.system->executor(); }
  // The most keys of the metadata that any one hold of the sequencer's lock has looked at or
  // written, to plan a transaction or to change something of the engine's own.
  // Any thread, without the lock: it is an atomic.
  std::uint64_t largest_hold() const HEXAD_NO_THREAD_SAFETY_ANALYSIS {
    return order_.newest.largest_hold();
  }
  // Largest record of a transaction, bytes. Precondition: open for writing.
  std::uint64_t max_record() { return pipeline_->max_record(); }
  StripeWriter stripe_writer() {
    return {shape(), space(), *parts_.members, stats(), StripeUse::kUser};
  }
  // Reclaims soon the pages of a body that no object names, and its writer key.
  void schedule_deletion(BodyId body) { deletion_job_->schedule({{body}, {}}); }
  // Devices are known to Space::suspect(), and nobody is about to lose them, or ids of the epoch
  // run short: the repair thread changes the membership.
  void lose_suspects_soon();
  // These devices failed a request: goes on without them (R13). Errors: too many are lost; the
  // store has turned read-only.
  Status lose_devices(const std::set<DeviceId>& failed) {
    return membership_->lose_devices(failed);
  }
  // The hint for data that comes without one: the object's own, where the policy heeds it.
  Result<Hint> stored_hint(std::string_view collection, std::string_view name,
                           const compression::Policy& policy) {
    HEXAD_ASSERT(commit_path_ != nullptr &&
                 "a store that is open for reading alone has no writers");
    return commit_path_->preparer().stored_hint(collection, name, policy);
  }
  Status writable() const { return gate_->check(); }
  // kForked in a child of the process that opened the store. Nothing of the engine may be used
  // there: locks may be held by threads that do not exist, devices are the parent's. So it is asked
  // before anything else, and there nothing is destroyed.
  Status here() const;
  bool in_child() const { return process_.in_child(); }
  // What is staged here names it.
  const std::shared_ptr<StagedHome>& home() const { return home_; }

 private:
  // engine_commits.cc
  void make_order();
  void make_commit_path();
  // What was freed and nobody looks at any more comes back.
  Lsn reclaim() { return reclaimer_->reclaim(); }

  // engine_progress.cc
  Status run_checkpoint() { return checkpointer_->run(Checkpointer::Close::kGoesOn); }
  void on_merged(const Status& merged);
  void make_checkpointer();
  void make_devices();
  void make_jobs();
  void lose_suspects();  // a step of a job
  void want_index();
  void on_progress();
  // The memtable or the log holds so much that a checkpoint should be made. Any thread.
  bool checkpoint_due();

  // engine_clean.cc
  void make_cleaner();
  // Who stood back while a device was behind goes on (CL6), though nobody commits anything.
  void clean_again();
  Status release_moved();

  // engine_reports.cc
  void make_reports();
  // Something of what is known of damage is to be written.
  void wake_damage_job();
  void show_openings(StoreStatus& status);
  // How much is free now is remembered, if it is time for that.
  void sample_room();

  // engine_close.cc
  // A step of the job that closes.
  void finish_closing();

  // engine_control.cc
  Status start_control();
  // Null: there is none.
  std::shared_ptr<ControlServer> control();
  void show_control(StoreStatus& status);
  Result<ObjectLook> look_at(const std::string& collection, const std::string& name, LookFor what);

  // engine_list.cc
  void want_checkpoint();

  io::ForkMark process_;  // that opened the store
  StoreParts parts_;
  ReadCache& cache_;
  std::unique_ptr<compression::Compressor> compressor_;
  std::unique_ptr<BlobPreparer> preparer_;
  std::unique_ptr<BlobReader> reader_;
  std::unique_ptr<StripePlacer> placer_;
  InFlightCells in_flight_cells_;
  IdSource ids_;
  Order order_;
  Closing closing_;
  Errands errands_;
  std::unique_ptr<CommitPipeline> pipeline_;  // null when read-only
  std::unique_ptr<WriteGate> gate_;
  std::unique_ptr<Reclaimer> reclaimer_;     // as the pipeline
  std::unique_ptr<OwnCommits> own_commits_;  // as the pipeline
  std::unique_ptr<Membership> membership_;   // as the pipeline
  std::unique_ptr<ZoneMaker> zones_;         // as the pipeline
  std::unique_ptr<SilentDevices> silent_;
  std::unique_ptr<RunMergers> mergers_;  // as the pipeline
  std::unique_ptr<DeviceHistory> history_;
  std::unique_ptr<Checkpointer> checkpointer_;
  std::unique_ptr<ZoneJob> zone_job_;  // jobs: as the pipeline
  std::unique_ptr<CloseJob> close_job_;
  std::unique_ptr<CheckpointJob> checkpoint_job_;
  std::unique_ptr<IndexJob> index_job_;
  std::unique_ptr<DeletionJob> deletion_job_;
  std::unique_ptr<CleanJob> clean_job_;
  std::unique_ptr<SealJob> seal_job_;
  std::unique_ptr<RepairJob> repair_job_;
  std::unique_ptr<DamageJob> damage_job_;
  std::unique_ptr<Devices> devices_;  // as the pipeline
  std::unique_ptr<JobScheduler> jobs_;
  ReadPins pins_;
  OpenReaders readers_;
  std::unique_ptr<StoreReader> reads_;
  std::unique_ptr<Cleaner> cleaner_;  // as the pipeline
  Reports reports_;

  const std::shared_ptr<StagedHome> home_;
  std::unique_ptr<CommitPath> commit_path_;  // as the pipeline

  io::Mutex control_mutex_;                 // while a control socket is made, and below
  std::shared_ptr<ControlServer> control_;  // null: there is none
  std::string no_control_;                  // why not, where it has been asked for
};

}  // namespace hexad::core
