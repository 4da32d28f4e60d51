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
#include "core/api/commit_options.h"
#include "core/api/options.h"
#include "core/api/pinned_bytes.h"
#include "core/commit/internal_commits.h"
#include "core/control/control_slot.h"
#include "core/engine/engine_parts.h"
#include "core/engine/reports.h"
#include "core/job/closing.h"
#include "core/job/errands.h"
#include "core/jobs/checkpointer.h"
#include "core/metadata/metadata.h"
#include "core/opening/store_parts.h"
#include "core/plan/staged_object.h"
#include "core/record/shape.h"
#include "core/runs/run_catalogue.h"
#include "core/space/log_blobs.h"
#include "core/space/members.h"
#include "core/space/space.h"
#include "core/stats/counters.h"
#include "core/transact/id_source.h"
#include "core/transact/order.h"
#include "core/transact/write_gate.h"
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
  bool waits_for_devices() const { return watch_.silent->any_soon(); }
  // Precondition of these, of devices() and of stored_hint(): the store is not open for reading
  // alone, of which writable() says so.
  InternalCommits& own_commits() {
    HEXAD_ASSERT(writing_.own_commits != nullptr &&
                 "a store that is open for reading alone commits nothing");
    return *writing_.own_commits;
  }
  StreamRoom& stream_room() {
    HEXAD_ASSERT(writing_.commit_path != nullptr &&
                 "a store that is open for reading alone has no writers");
    return writing_.commit_path->stream_room();
  }
  IdSource& ids() { return ids_; }

  // --- reads ---
  StoreReader& reads() { return *reading_.reads; }
  OpenReaders& readers() { return reading_.readers; }
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
    HEXAD_ASSERT(writing_.devices != nullptr &&
                 "a store that is open for reading alone changes no devices");
    return *writing_.devices;
  }
  Status serve_control();  // engine_control.cc

  // --- for streams ---
  const StoreShape& shape() const { return *parts_.shape; }
  const RuntimeOptions& options() const { return parts_.options; }
  const BlobPreparer& preparer() const { return *coding_.preparer; }
  const BlobReader& blob_reader() const { return *coding_.reader; }
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
  std::uint64_t max_record() { return writing_.pipeline->max_record(); }
  StripeWriter stripe_writer() {
    return {shape(), space(), *parts_.members, stats(), StripeUse::kUser};
  }
  // Reclaims soon the pages of a body that no object names, and its writer key.
  void schedule_deletion(BodyId body) { writing_.jobs.deletion->schedule({{body}, {}}); }
  // Devices are known to Space::suspect(), and nobody is about to lose them, or ids of the epoch
  // run short: the repair thread changes the membership.
  void lose_suspects_soon();
  // These devices failed a request: goes on without them (R13). Errors: too many are lost; the
  // store has turned read-only.
  Status lose_devices(const std::set<DeviceId>& failed) {
    return writing_.membership->lose_devices(failed);
  }
  // The hint for data that comes without one: the object's own, where the policy heeds it.
  Result<Hint> stored_hint(std::string_view collection, std::string_view name,
                           const compression::Policy& policy) {
    HEXAD_ASSERT(writing_.commit_path != nullptr &&
                 "a store that is open for reading alone has no writers");
    return writing_.commit_path->preparer().stored_hint(collection, name, policy);
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
  Lsn reclaim() { return writing_.reclaimer->reclaim(); }

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
  Result<std::shared_ptr<ControlServer>> start_control();
  Result<ObjectLook> look_at(const std::string& collection, const std::string& name, LookFor what);

  // engine_list.cc
  void want_checkpoint();

  io::ForkMark process_;  // that opened the store
  StoreParts parts_;
  // Made in this order, which is why it is the engine that makes what is in them.
  Coding coding_;
  IdSource ids_;
  Order order_;
  Closing closing_;
  Errands errands_;
  std::unique_ptr<WriteGate> gate_;
  DeviceWatch watch_;
  std::unique_ptr<Checkpointer> checkpointer_;
  Reading reading_;
  const std::shared_ptr<StagedHome> home_;
  Writing writing_;
  Reports reports_;
  ControlSlot control_;
};

}  // namespace hexad::core
