// Makes checkpoints: what the memtable holds becomes a run in the coded zones, the root says so,
// the fast index gets the same, the log is trimmed.
//
// Order (R4), and why a crash between the steps loses nothing:
//   0  pack       what is inlined in the log gets a place in a stripe, by records of the store's
//                 own; a crash here leaves it in the log and, perhaps, in a stripe, whichever the
//                 log says
//   1  merge      where some runs have become one beside the checkpoints (core/runs/run_mergers.h),
//                 it is taken in; nothing names it yet. Merges in here are those that cannot wait
//   2  freeze     everything assigned is durable and published; LSN c is the last of it
//   3  run        the changes up to c and zone images as of c; nothing names it yet, and its
//                 stripes are free in every state that a crash leaves
//   4  manifest   names the runs, this one included; nothing names it yet
//   5  root       names c, the manifest and the trim point, on all live devices. A crash before it
//                 is committed leaves the old root or this one, and both are whole: the log still
//                 has everything that the older one needs, because only step 7 trims.
//   6  index      the changes up to c, and c itself, in one LMDB commit (or several, c in the
//                 last). A crash here: the index is behind the root, which the next opening sees
//                 by its LSN, and gets from the runs what it lacks (core/runs/fast_index.h). An
//                 error: reads come from the runs, and the index is made again in the background.
//   7  trim       in memory only: blocks before the trim point may be overwritten from now on.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/blob/blob_prepare.h"
#include "core/commit/commit_pipeline.h"
#include "core/commit/sequencer.h"
#include "core/jobs/checkpoint_changes.h"
#include "core/membership/membership.h"
#include "core/metadata/metadata.h"
#include "core/record/shape.h"
#include "core/runs/run_catalogue.h"
#include "core/runs/run_mergers.h"
#include "core/space/log_blobs.h"
#include "core/space/members.h"
#include "core/space/reserve.h"
#include "core/space/space.h"
#include "core/stats/counters.h"
#include "io/executor.h"
#include "kv/tiered/tiered_index.h"

namespace hexad::core {

class Checkpointer {
 public:
  // What a checkpoint needs of those that stand above it.
  struct Hooks {
    std::function<Status()> pack_payloads;  // step 0, under mutex(); nothing is inlined meanwhile
    std::function<Status()> make_zone;      // under no lock
    std::function<void()> await_zone;       // the one that another thread is making
    std::function<bool()> open_zones;       // that slabs move from; false: there are none
    std::function<void()> forget_pages;     // C10, under the sequencer's lock
    std::function<void()> reclaim;          // what is free when the root is committed
    std::function<void()> fold_counters;    // before their totals are written
    std::function<void(const Status&)> note_merge;  // one that was made in here
    std::function<void(RunMerger&)> wake_merger;    // which has been given work
    std::function<void()> want_index;               // there is none
    // What is remembered of devices, DeviceHistory::changes(), and that a root has it.
    std::function<std::map<std::string, std::string>(const std::set<DeviceId>&, Lsn, Epoch)>
        device_records;
    std::function<void()> device_records_written;
  };
  // All outlive it.
  struct Parts {
    io::Executor& executor;
    const StoreShape& shape;
    const BlobPreparer& preparer;
    bool memory_only;                   // all of the store ends with it: without runs
    std::vector<DeviceId> log_devices;  // of the opening
    Members& members;
    Space& space;
    Metadata& metadata;
    LogBlobs& log_blobs;
    RunCatalogue& runs;
    kv::TieredIndex& index;
    Counters& counters;
    Sequencer& sequencer;
    // Null when the store is read-only; then there are no checkpoints, and only mutex() is used.
    CommitPipeline* pipeline;
    RunMergers* mergers;
    Membership* membership;
    Hooks hooks;
  };
  enum class Close : std::uint8_t { kGoesOn, kClean };
  // Whether zones are opened that are closed while their slabs move, where space is short.
  enum class Doors : std::uint8_t { kOpen, kStayClosed };

  explicit Checkpointer(Parts parts);

  // `needless`: asked under mutex(), and then nothing is done. A run needs space: where no zone has
  // any more, one is made in between. Errors: kNoSpace; those of devices; the store has turned
  // read-only. Under no lock to the right of zones.
  Status run(Close close, const std::function<bool()>& needless = {}, Doors doors = Doors::kOpen);
  // Devices that had left, and are attached again (Members::returning()), are used from now on,
  // with nothing in flight that was sent without them (BK2). The next checkpoint is that of BK3,
  // whoever asks for it; finish_return() does. Under zones, so that no zone is made meanwhile that
  // lacks its headers on them. `fresh`: of them, new devices in the place of others, which have
  // nothing yet. Waits for what is in flight. Errors: the store has turned read-only.
  Status begin_return(const std::set<DeviceId>& back, const std::set<DeviceId>& fresh = {});
  // The checkpoint that takes them in again (doc/invariants.md#coming-back). Those that fail
  // meanwhile are not. `advance` commits something, so that there is an LSN above the last
  // checkpoint's. Errors: as run(), and then none of them is used.
  Status finish_return(const std::function<Status()>& advance);
  // So that the next checkpoint, and a merge of all runs, always find space.
  void set_reserve();
  // What that went by last; all zeros where nothing is kept. Any thread.
  ReserveInput reserve_input();
  // While a checkpoint is made. Who holds it keeps runs and index as they are.
  io::Mutex& mutex() HEXAD_RETURN_CAPABILITY(mutex_) { return mutex_; }
  // Why the index did not take the last checkpoint; empty: it did. Any thread.
  std::string index_problem();

 private:
  struct Frozen;

  Status run_locked(Close close) HEXAD_REQUIRES(mutex_);
  // Of those to be taken in: no root has them.
  void end_return(const std::string& why) HEXAD_REQUIRES(mutex_);
  void merge_into(RunDraft& draft, Close close) HEXAD_REQUIRES(mutex_);
  void merge_beside();
  bool room_beside(const RunMerge& plan);
  Result<Frozen> freeze(const RunDraft& draft) HEXAD_REQUIRES(mutex_);
  Status write_run(RunDraft& draft, const Frozen& frozen, Epoch epoch,
                   const CheckpointChanges& changes) HEXAD_REQUIRES(mutex_);
  Status lose_failed(RunDraft& draft) HEXAD_REQUIRES(mutex_);
  Status discard(RunDraft& draft) HEXAD_REQUIRES(mutex_);
  Status commit_root(const Frozen& frozen, const alloc::ManifestAddress* manifest, Close close)
      HEXAD_REQUIRES(mutex_);
  Status apply_to_index(Lsn lsn, Epoch epoch, const CheckpointChanges& changes);

  const Parts parts_;
  io::Mutex mutex_;
  Lsn last_ HEXAD_GUARDED_BY(mutex_);                 // of the last checkpoint
  std::set<DeviceId> back_ HEXAD_GUARDED_BY(mutex_);  // to be taken in by this checkpoint
  io::Mutex looks_mutex_;                             // a leaf
  // For those who look.
  std::string index_problem_ HEXAD_GUARDED_BY(looks_mutex_);
  ReserveInput reserve_input_ HEXAD_GUARDED_BY(looks_mutex_);
};

}  // namespace hexad::core
