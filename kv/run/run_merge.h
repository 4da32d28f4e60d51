// When runs are merged, and merging them.
//
// Writing a record again is worth it when the run that it comes into is much larger than the one it
// comes from: a run of n checkpoints can then hold it after log(n) writings. So neighbours are
// merged as soon as their bytes come into a run that is, in the geometric mean over those bytes,
// `ratio` times as large as the one they come from; four equal runs at ratio 4. And when there are
// more than `max_runs`, those neighbours for which that mean is highest. Sizes may be in any order.
//
//   runs after planning    at most max_runs
//   each byte is written   at most log(n) / log(g) times beside the first: n bytes of all runs over
//                          bytes of a checkpoint, g the lowest mean that was accepted, since its
//                          run grows n-fold in all; log_ratio(n) while max_runs forces nothing.
//                          Simulated with 8 runs and ratio 4: at most log4(n) + 0.5 times for 1000
//                          checkpoints of equal and of any other sizes, 8.1 times for 10000, and
//                          about 4 times, however many, when the state does not grow any more
//                          (doc/decisions/011-blocks-of-runs.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/error.h"
#include "kv/run/run_cache.h"
#include "kv/run/run_reader.h"
#include "kv/run/run_writer.h"

namespace hexad::kv {

struct RunMergeRules {
  std::size_t max_runs = 8;  // at least 1
  std::uint64_t ratio = 4;   // at least 2
};

// Neighbours: runs [first, first + count), newest first.
struct RunMergePlan {
  std::size_t first = 0;
  std::size_t count = 0;

  bool operator==(const RunMergePlan&) const = default;
};

// Nothing: all is well. Else merge those, and ask again. `sizes_newest_first`: bytes or entries,
// all the same. Pure. Cost: quadratic in the number of runs.
std::optional<RunMergePlan> plan_run_merge(std::span<const std::uint64_t> sizes_newest_first,
                                           const RunMergeRules& rules);

// A piece of a run that is being written, which should be on a faster device when the run is there.
using InheritPiece = std::function<void(RunPieceKind, std::uint64_t offset, ByteView stored)>;

enum class Tombstones : std::uint8_t { kKept, kDropped };

// Leaves of a run that no other run has anything between are taken over as they are, without being
// unpacked (kv/run/run_leaf.h): names that ascend, the runs of many collections, what nobody
// changed.
//
// Adds to `into` what the runs together say; finish() is the caller's. Tombstones are dropped
// only when there is no older run that they hide something of. `between` is called every some
// hundred entries and after each leaf, and may take its time; its error ends the merge. Memory:
// that of a cursor for each run and of the writer. Errors: that, and those of reading and writing;
// `into` is of no use then.
//
// `inherit`: is told of each block of data that is complete while the merge stands on an entry from
// a block of which there is a copy, and from the first of these on of filters and the index. So
// where look-ups found copies they go on to. It is called until `into` is finished.
Status merge_runs(std::span<const std::shared_ptr<RunReader>> newest_first, Tombstones tombstones,
                  RunWriter& into, const std::function<Status()>& between = {},
                  const InheritPiece& inherit = {});

}  // namespace hexad::kv
