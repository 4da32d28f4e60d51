// The runs of a store: those that the newest manifest names, open for reading, and what a
// checkpoint makes of them. doc/invariants.md#checkpoint
//
// A draft is the next manifest while it is being made. Nothing of it counts before a root that
// names it is committed; until then its stripes are in flight, so that a crash or discard() leaves
// them free. What the manifest before names and the new one does not is given up: it stays taken
// until nobody reads it any more, and every zone image until then says that it is deferred.
//
//   RC1 stripes of runs and manifests are in no log record: opening marks what root and manifest
//       name as used, after replay
//   RC2 a stripe that is given up is live in memory as long as a reader of its run is left
//   RC3 a zone image as of c has the stripes of the manifest before c as live or, where c gives
//       them up, as deferred; those that c itself writes are free in it
//
// One thread at a time (the checkpoint's), but for set() and what it returns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "alloc/root.h"
#include "base/error.h"
#include "core/blob/blob_prepare.h"
#include "core/blob/blob_read.h"
#include "core/record/shape.h"
#include "core/runs/manifest.h"
#include "core/runs/manifest_store.h"
#include "core/space/members.h"
#include "core/space/space.h"
#include "core/stats/counters.h"
#include "kv/index.h"
#include "kv/run/run_cache.h"
#include "kv/run/run_filter.h"
#include "kv/run/run_merge.h"
#include "kv/run/run_set.h"

namespace hexad::core {

// A manifest in the making.
struct RunDraft {
  Manifest manifest;
  std::vector<std::shared_ptr<kv::RunReader>> readers;  // of manifest.runs, in its order
  std::vector<alloc::Extent> fresh;                     // in flight: what the draft has written
  // What the committed manifest names and this one does not.
  struct GivenUp {
    std::vector<alloc::Extent> stripes;
    std::shared_ptr<kv::RunReader> reader;  // null: of the manifest
  };
  std::vector<GivenUp> replaced;
  alloc::ManifestAddress address;
  std::set<DeviceId> failed;  // devices that did not take what was written
};

// Neighbouring runs that are to become one.
struct RunMerge {
  std::vector<ManifestRun> inputs;                      // the newest first
  std::vector<std::shared_ptr<kv::RunReader>> readers;  // of these
  bool oldest = false;                                  // there is no run before them
  bool largest = false;                                 // what they become has no larger one beside
};

// The run that they became: durable, in flight, named by nothing.
struct MergedRun {
  std::vector<std::uint64_t> inputs;  // ids
  ManifestRun run;                    // without an id
  std::shared_ptr<kv::RunReader> reader;
};

// Units of the stripes that the runs lie in.
std::uint64_t units_of(const std::vector<ManifestRun>& runs);

class RunCatalogue {
 public:
  // All outlive it and the run sets that it hands out.
  RunCatalogue(io::Executor& executor, const StoreShape& shape, const ec::Codec& codec,
               const BlobReader& reader, Members& members, Space& space, Counters& counters,
               kv::RunCache& cache);

  // --- opening ---
  // Reads the manifest, tells the space of its zones, opens the runs. A nil address: no runs.
  // Errors: kCorruption (the manifest is not that of the checkpoint `lsn`; a run contradicts it),
  // kUnavailable (too few cells).
  Status load(const alloc::ManifestAddress& address, Lsn lsn);
  // After replay: what root and manifest name is taken (RC1). Errors: kCorruption.
  Status mark_used();

  // Any thread.
  std::shared_ptr<const kv::RunSet> set() const;
  const Manifest& manifest() const { return manifest_; }
  std::uint64_t bytes() const;  // of all runs together

  // --- a checkpoint, in this order ---
  RunDraft begin() const;
  // The draft names it and not its inputs. False, and nothing has happened: they are not neighbours
  // in it any more.
  bool install(RunDraft& draft, MergedRun& merged) const;
  // What zone images of this checkpoint have to show as deferred.
  std::vector<alloc::Extent> deferred_in_images(const RunDraft& draft) const;
  // The newest run: what changed since the last one, up to `lsn`. `epoch`: of the writer.
  using AddChange = std::function<Status(std::string_view, std::optional<std::string_view>)>;
  // Calls it for every change, ascending by key.
  using EachChange = std::function<Status(const AddChange&)>;
  Status add_run(RunDraft& draft, const BlobPreparer& preparer, Lsn lsn, Epoch epoch,
                 const EachChange& changes) const;
  // The manifest itself. From here on the draft can be committed.
  Status write_manifest(RunDraft& draft) const;
  // A root that names the draft's address is committed; `lsn`: of the checkpoint.
  void adopt(RunDraft&& draft);
  // Nothing names it.
  void discard(RunDraft& draft) const;
  // Frees what was given up and is not read any more.
  Status release();

  // --- merging, beside checkpoints or in one ---
  // Neighbours in the draft that should be merged, since there are too many of about one size; all
  // of them when the reserve is not whole (core/space/reserve.h, 5). Nothing: all is well.
  std::optional<RunMerge> plan_merge(const RunDraft& draft) const;
  // The same among the runs that are newer than run `than`, which is in the draft: for a merge
  // beside one that has it. Nothing when the reserve is not whole: those are not all.
  std::optional<RunMerge> plan_merge_newer(const RunDraft& draft, std::uint64_t than) const;
  // Any thread. `failed` gets the devices that did not take what was written, whatever the outcome;
  // they leave before a root names it (R13). `between` as in kv::merge_runs().
  // Errors, and no space is taken: that of `between`, kNoSpace, kUnavailable, kCorruption.
  Result<MergedRun> merge(const RunMerge& plan, const BlobPreparer& preparer,
                          std::set<DeviceId>& failed,
                          const std::function<Status()>& between = {}) const;
  // Any thread. Gives its space back. Precondition: it is in no draft.
  void drop(const MergedRun& merged) const;

  // Every stripe that is live and belongs to runs and manifests, with whose it is: for fsck.
  struct Owned {
    std::string owner;
    ExtentList pieces;                   // of a run
    std::vector<alloc::Extent> stripes;  // of the manifest, and of what was given up
  };
  std::vector<Owned> owned() const;
  // The runs of the last checkpoint, for whoever looks at their stripes while checkpoints go on:
  // these stay where they are as long as the reader is held.
  struct HeldRun {
    std::string name;
    ExtentList pieces;
    std::shared_ptr<kv::RunReader> reader;
  };
  std::vector<HeldRun> held() const;

 private:
  static RunMerge merge_of(const RunDraft& draft, const kv::RunMergePlan& plan);
  // `serial`: of the cache, when pieces of the run have one already.
  Result<std::shared_ptr<kv::RunReader>> open(
      const ManifestRun& run, std::optional<std::uint64_t> serial = std::nullopt) const;
  struct Writing {
    const BlobPreparer& preparer;
    Lsn first = 0;
    Lsn last = 0;
    StripeUse use = StripeUse::kRun;
    kv::RunFilterBits filter_bits = kv::RunFilterBits::kUsual;
    std::set<DeviceId>& failed;
  };
  Result<ManifestRun> write(const Writing& writing,
                            const std::function<Status(kv::RunWriter&)>& fill) const;

  io::Executor& executor_;
  const StoreShape& shape_;
  const BlobReader& reader_;
  Members& members_;
  Space& space_;
  Counters& counters_;
  kv::RunCache& cache_;
  const ManifestStore store_;

  Manifest manifest_;
  alloc::ManifestAddress address_;
  std::vector<std::shared_ptr<kv::RunReader>> readers_;  // of manifest_.runs
  // Live, named by nothing; deferred at `lsn` in the images of checkpoints since then.
  struct Waiting {
    std::vector<alloc::Extent> stripes;
    std::weak_ptr<kv::RunReader> reader;
    Lsn lsn = 0;
  };
  std::vector<Waiting> waiting_;

  mutable io::Mutex mutex_;  // set_
  std::shared_ptr<const kv::RunSet> set_ HEXAD_GUARDED_BY(mutex_);
};

}  // namespace hexad::core
