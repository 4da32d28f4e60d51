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
#include "core/commit/in_flight_budget.h"
#include "core/commit/internal_commits.h"
#include "core/commit/lane.h"
#include "core/commit/newest_state.h"
#include "core/commit/sequencer.h"
#include "core/commit/stripe_placer.h"
#include "core/control/control_server.h"
#include "core/devices/devices.h"
#include "core/engine/closing.h"
#include "core/engine/errands.h"
#include "core/engine/reports.h"
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
#include "core/jobs/silence_job.h"
#include "core/jobs/zone_job.h"
#include "core/membership/device_history.h"
#include "core/membership/membership.h"
#include "core/membership/silent_devices.h"
#include "core/metadata/metadata.h"
#include "core/opening/store_parts.h"
#include "core/plan/body_ids.h"
#include "core/plan/copies_under_way.h"
#include "core/plan/owners.h"
#include "core/plan/planner.h"
#include "core/plan/prepared.h"
#include "core/plan/staged_object.h"
#include "core/read/store_reader.h"
#include "core/record/shape.h"
#include "core/runs/run_catalogue.h"
#include "core/runs/run_mergers.h"
#include "core/space/log_blobs.h"
#include "core/space/members.h"
#include "core/space/space.h"
#include "core/stats/counters.h"
#include "ec/codec.h"
#include "io/fork_mark.h"
#include "io/system.h"
#include "kv/index.h"
#include "kv/tiered/tiered_index.h"

namespace hexad::core {

// Of pages of extents, 16 MiB of memory.
inline constexpr std::size_t kRememberedExtents = std::size_t{1} << 16;

class Engine : public InternalCommits {
 public:
  explicit Engine(StoreParts parts);
  ~Engine() override;
  // Starts all threads there will be and takes back what crashed writers left. Once, after
  // creation. Errors: those of commits; the system refuses a thread.
  Status start();
  // Ends with kUnavailable when a device has owed an answer for io::kReadPatience, and goes on
  // beside: who calls it again waits again.
  Status close();
  // Whether the destructor will come to an end. Waits while a device is silent, for as long as
  // close() does; where it is false nothing of this may be destroyed.
  bool may_end();

  // --- commits (engine_submit.cc, engine_commit.cc) ---
  Result<Lsn> commit(Transaction&& transaction, const CommitOptions& options = {});
  void submit(Transaction&& transaction, const CommitCallback& done, const CommitOptions& options);
  Status sync();
  bool waits_for_devices() const { return silent_->any_soon(); }
  using InternalCommits::commit_internal;
  Result<Lsn> commit_internal(const FillRecord& fill, const std::function<void()>& placed,
                              LogRoom room) override;

  // --- reads ---
  StoreReader& reads() { return *reads_; }
  OpenReaders& readers() { return readers_; }
  // Asks for a checkpoint where a page passes over many deleted names (engine_list.cc).
  Result<ListPage> list(std::string_view collection, const ListOptions& options);

  // --- background (engine_zones.cc) ---
  Status checkpoint();

  // --- looking, and putting right (engine_reports.cc makes them) ---
  Fsck& fsck() { return *reports_.fsck; }
  Scrubber& scrubber() { return *reports_.scrubber; }
  KnownDamage& damage() { return *reports_.damage; }
  const StatusReport& status_report() const { return *reports_.status; }
  SpaceReport& space_report() { return *reports_.space; }
  CounterReport& counter_report() { return *reports_.counters; }
  std::vector<EffectiveOption> effective_options() const;

  // Precondition: writable().
  Devices& devices() { return *devices_; }
  Status serve_control();  // engine_control.cc

  // --- for streams ---
  const StoreShape& shape() const { return *parts_.shape; }
  const RuntimeOptions& options() const { return parts_.options; }
  const BlobPreparer& preparer() const { return *preparer_; }
  const BlobReader& blob_reader() const { return *reader_; }
  Space& space() { return *parts_.space; }
  Counters& stats() { return *parts_.counters; }
  io::Executor& executor() { return parts_.system->executor(); }
  BodyId new_body();
  // Whether there are enough of them for what begins now. Errors: kExhausted (D2 of
  // core/plan/body_ids.h).
  Status may_draw_ids();
  // The most keys of the metadata that any one hold of the sequencer's lock has looked at or
  // written, to plan a transaction or to change something of the engine's own.
  std::uint64_t largest_hold() const { return newest_.largest_hold(); }
  // Largest record of a transaction, bytes. Precondition: open for writing.
  std::uint64_t max_record() { return lane_->max_record(); }
  StripeWriter stripe_writer() {
    return {shape(), space(), *parts_.members, stats(), StripeUse::kUser};
  }
  // `cut`: not 0, with an error, where no run is that long: it is to be cut into stripes of so many
  // units, at least `shortest`, which there are.
  Result<alloc::Extent> allocate_for_stream(std::uint32_t units, std::uint32_t shortest,
                                            std::uint32_t& cut);
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
  Result<compression::Policy> policy_of(std::string_view collection);
  // The hint for data that comes without one: the object's own, where the policy heeds it.
  Result<Hint> stored_hint(std::string_view collection, std::string_view name,
                           const compression::Policy& policy);
  Status writable() const;
  // kForked in a child of the process that opened the store. Nothing of the engine may be used
  // there: locks may be held by threads that do not exist, devices are the parent's. So it is asked
  // before anything else, and there nothing is destroyed.
  Status here() const;
  bool in_child() const { return process_.in_child(); }
  // What is staged here names it.
  const std::shared_ptr<StagedHome>& home() const { return home_; }

  // --- PlanSource: the newest state; under the sequencer's lock ---
  Result<std::optional<std::string>> get(std::string_view key) override { return newest_.get(key); }
  Status scan(std::string_view prefix, const Visit& visit) override {
    return newest_.scan(prefix, visit);
  }
  Status scan_from(std::string_view prefix, std::string_view from, const Visit& visit) override {
    return newest_.scan_from(prefix, from, visit);
  }
  std::shared_ptr<KnownPage> known_page(BodyId body, std::uint32_t page) override {
    return newest_.known_page(body, page);
  }
  Status scan_to_fill(std::string_view prefix, std::string_view from, const Visit& visit) override {
    return newest_.scan_within(prefix, from, visit, newest_.fill_walk());
  }

 private:
  // engine_commit.cc
  struct Attempt;
  // What a try to give a record its place lacked.
  struct Lacking {
    std::uint64_t log_bytes = 0;    // not zero: the log has no room for so many
    bool too_many_deleted = false;  // keys that were deleted since the last checkpoint
  };
  // One try of commit_internal(); not durable yet. 0: something was lacking.
  Result<Lsn> try_internal(const FillRecord& fill, const std::function<void()>& placed,
                           LogRoom room, Lacking& lacking);
  Result<PreparedOps> prepare(const Transaction& transaction);
  // What the ops of one transaction have in common while they are prepared.
  struct Preparing {
    std::map<std::string_view, compression::Policy> policies;  // of collections, as they are met
    SharedCopies copies;
    std::uint32_t most_units = kAnyUnits;  // of a stripe
  };
  Status prepare_op(const Transaction& transaction, std::size_t index, std::uint64_t base,
                    Inlining inlining, Preparing& preparing, PreparedOps& prepared);
  enum class Author : std::uint8_t { kUser, kEngine };
  Status sequence(const Transaction& transaction, PreparedOps& prepared, Submission& submission,
                  Lsn* rests_on, Author author = Author::kUser);
  // What became of a try to give a transaction its place in the order; what it lacked stands in the
  // attempt.
  enum class Outcome : std::uint8_t {
    kSequenced,   // it has its place
    kRedo,        // some ops have to be prepared again
    kFragmented,  // pages have too many pieces: they are to be compacted first
    kLayered,     // omaps have too many layers: some are to be merged first
    kCut,         // what is cut off of bodies is to be reclaimed first
    kCold,        // something of the runs is to be read first
    kTombstones,  // the plan met too many keys that were deleted: a checkpoint takes them away
    kNeedsRoom,   // in the log, or space
  };
  // Errors: nothing can be done about them here; nothing is left of the transaction.
  Result<Outcome> try_sequence(const Transaction& transaction, PreparedOps& prepared,
                               Submission& submission, Attempt& attempt);
  Result<Outcome> plan_and_place(const Transaction& transaction, PreparedOps& prepared,
                                 Submission& submission, Attempt& attempt);
  // `most_units`: of a stripe.
  Status prepare_again(const Transaction& transaction, const std::vector<Redo>& redo_ops,
                       std::uint32_t most_units, PreparedOps& prepared);
  Result<alloc::Extent> allocate_locked(std::uint32_t units, Attempt& attempt);
  struct Cuts;
  Result<bool> cut_shorter(const Transaction& transaction, PreparedOps& prepared, Cuts& cuts);
  void count_cuts(const Cuts& cuts, std::size_t pieces);
  // Under the sequencer's lock.
  Status place_ahead(Submission& submission, Attempt& attempt);
  Status take_places(const PlacementPlan& plan, Submission& submission, Attempt& attempt);
  Status make_way(const Attempt& attempt);
  // The same where the thread may be called back: an errand.
  Status make_way_apart(const Attempt& attempt);
  // Of a commit that is called back before it has its place.
  static Error called_back_early();
  Status make_zone_for(const Attempt& attempt);
  Status unplaced(const Status& why) const;
  Status make_room(const Attempt& attempt);
  // A checkpoint where payloads of `least` bytes or more ride in the log, which packs them all.
  Status pack_for_room(std::uint64_t least);
  Status rewrite_page(const CrowdedPage& crowded);

  // engine_warm.cc
  // What every plan asks for: of collections and objects that ops name.
  Status warm_names(const Transaction& transaction, WarmKeys& warm);
  // All that the plan would ask for just now. Names and places of blobs are others then.
  void rehearse(const Transaction& transaction, PreparedOps& prepared, WarmKeys& warm);
  // What was freed and nobody looks at any more comes back. The oldest state that a read looks at
  // which has just begun, or is short; that of now where there is none.
  Lsn reclaim();
  // Waits for such reads. Whether there are more free units than the attempt found.
  bool outlast_reads(const Attempt& attempt);

  // engine_prepare.cc
  // Takes hints of the transaction to the later ops that bring data for the same objects.
  static void tell_hints(const Transaction& transaction, PreparedOps& prepared);
  // The object in the newest state, pending commits included; nothing: there is none.
  Result<std::optional<ObjectSummary>> newest_summary(std::string_view collection,
                                                      std::string_view name);
  // Until commits up to `lsn` can be read, or the store cannot be written any more.
  Status wait_until_read(Lsn lsn);
  // For a split_collection.
  Result<std::shared_ptr<CountedNames>> count_names(const TransactionOp& op);
  Result<std::shared_ptr<CountedNames>> count_names(std::vector<NameRange> ranges);
  // For an expect_bytes. May wait until commits in flight can be read.
  Result<ComparedBytes> compare_bytes(const TransactionOp& op);

  // engine_submit.cc
  void submit_here(Transaction&& transaction, const CommitCallback& done,
                   const CommitOptions& options);
  Status acceptable(const Transaction& transaction, Durability durability) const;
  // Buffered commits are waiting: seals them soon.
  void seal_soon();
  // kIo when buffered commits have been lost (R15).
  Status lost_buffered() const;
  Error told(const Error& error, Durability durability) const;

  // engine_pack.cc
  Status pack_payloads();
  Status pack_some(const std::vector<YoungBlob>& blobs);

  // engine_zones.cc
  Status run_checkpoint() { return checkpointer_->run(Checkpointer::Close::kGoesOn); }
  void on_merged(const Status& merged);
  void make_checkpointer();
  void make_devices();
  void make_jobs();
  void lose_suspects();  // a step of a job
  // Ahead of need; for a commit that waits; for a checkpoint that does.
  enum class ZoneFor : std::uint8_t { kCommits, kWaiting, kCheckpoint };
  Status make_zone(ZoneFor whom);
  // Under zone_mutex_. `lacking`: of kWaiting, and then there is no zone, and no error either.
  Status make_zone_locked(ZoneFor whom, Lacking& lacking);
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

  // engine_waits.cc
  // Waits while slabs that zones have left are to be free in a moment; whether there is room then.
  bool outlast_moves(const Attempt& attempt);
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

  // engine_copy.cc
  struct CopyStep;
  // The pages of a body for a clone of the range; `copied`: what there is of a copy, or null. An
  // errand.
  Result<std::shared_ptr<CopiedPages>> copy_pages(BodyId from, const ShiftedRange& range,
                                                  std::shared_ptr<CopiedPages> copied);
  Result<std::shared_ptr<CopiedPages>> copy_pages_here(BodyId from, const ShiftedRange& range,
                                                       std::shared_ptr<CopiedPages> copied);
  std::shared_ptr<CopiedPages> begin_copy(BodyId from, const ShiftedRange& range);
  Status copy_some_pages(CopiedPages& copied);
  Status copy_stale_pages(CopyStep& step);
  Status copy_next_pages(CopyStep& step);
  Status copy_page(std::uint32_t page, CopyStep& step);
  Result<const ExtentList*> source_page(std::uint32_t page, CopyStep& step);
  Result<const ExtentList*> keep_source(std::uint32_t page, std::string_view value, CopyStep& step);

  // engine_layers.cc
  // Makes the list of layers below the object's omap shorter; what it shows stays the same.
  Status merge_layers(const LayeredObject& object);
  struct LayerKey;
  Status copy_entries(const std::vector<LayerKey>& keys, OmapId to, LogRecord& record);
  Status copy_entry(const LayerKey& key, OmapId to, LogRecord& record, BlobOwners& owners);
  // Whether the list still had the layers.
  Result<bool> replace_layers(const LayeredObject& object, const std::vector<OmapId>& layers,
                              OmapId by);

  io::ForkMark process_;  // that opened the store
  StoreParts parts_;
  ReadCache& cache_;
  std::unique_ptr<compression::Compressor> compressor_;
  std::unique_ptr<BlobPreparer> preparer_;
  std::unique_ptr<BlobReader> reader_;
  std::unique_ptr<StripePlacer> placer_;
  InFlightCells in_flight_cells_;
  std::unique_ptr<Lane> lane_;              // null when read-only
  std::unique_ptr<Membership> membership_;  // as the lane
  std::unique_ptr<SilentDevices> silent_;
  std::unique_ptr<RunMergers> mergers_;  // as the lane
  std::unique_ptr<DeviceHistory> history_;
  std::unique_ptr<Checkpointer> checkpointer_;
  std::unique_ptr<ZoneJob> zone_job_;  // jobs: as the lane
  std::unique_ptr<CloseJob> close_job_;
  std::unique_ptr<CheckpointJob> checkpoint_job_;
  std::unique_ptr<IndexJob> index_job_;
  std::unique_ptr<DeletionJob> deletion_job_;
  std::unique_ptr<CleanJob> clean_job_;
  std::unique_ptr<SealJob> seal_job_;
  std::unique_ptr<RepairJob> repair_job_;
  std::unique_ptr<SilenceJob> silence_job_;
  std::unique_ptr<DamageJob> damage_job_;
  std::unique_ptr<Devices> devices_;  // as the lane
  std::unique_ptr<JobScheduler> jobs_;
  ReadPins pins_;
  OpenReaders readers_;
  std::unique_ptr<StoreReader> reads_;
  std::unique_ptr<Cleaner> cleaner_;  // as the lane
  Reports reports_;
  std::unique_ptr<InFlightBudget> budget_;
  std::atomic<bool> users_committed_{false};  // since somebody has asked

  io::Mutex zone_mutex_;  // while a zone is made
  Sequencer sequencer_;
  NewestState newest_;  // guarded by sequencer_
  BodyIds ids_;
  Errands errands_;
  Closing closing_;
  const std::shared_ptr<StagedHome> home_;

  io::Mutex control_mutex_;                 // while a control socket is made, and below
  std::shared_ptr<ControlServer> control_;  // null: there is none
  std::string no_control_;                  // why not, where it has been asked for
};

}  // namespace hexad::core
