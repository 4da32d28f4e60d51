#include "kv/run/run_merge.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "kv/run/run_leaf.h"
#include "kv/run/run_merge_cursor.h"

namespace hexad::kv {

std::optional<RunMergePlan> plan_run_merge(std::span<const std::uint64_t> sizes_newest_first,
                                           const RunMergeRules& rules) {
  const std::size_t runs = sizes_newest_first.size();
  RunMergePlan best;
  double best_growth = 0;  // log2 of the mean
  for (std::size_t first = 0; first < runs; ++first) {
    double bytes = 0;  // of the result
    double logs = 0;   // of the sizes they come from, weighted with them
    for (std::size_t last = first; last < runs; ++last) {
      const double size = std::max(1.0, static_cast<double>(sizes_newest_first[last]));
      bytes += size;
      logs += size * std::log2(size);
      const double growth = std::log2(bytes) - logs / bytes;
      if (last == first || (best.count > 0 && growth <= best_growth)) continue;
      best = {first, last - first + 1};
      best_growth = growth;
    }
  }
  // Equal runs give the ratio but for rounding.
  const bool worth_it = best_growth >= std::log2(static_cast<double>(rules.ratio)) - 1e-9;
  if (best.count == 0 || (!worth_it && runs <= rules.max_runs)) return std::nullopt;
  return best;
}

namespace {

// Of the run that a leaf is taken over from; null in between.
using TakingFrom = const RunSource*;

// Whether it was, and the cursor stands behind it.
Result<bool> take_over_leaf(RunMergeCursor& cursor, Tombstones tombstones, RunWriter& into,
                            TakingFrom& from) {
  const RunCursor* const at = cursor.lone_leaf();
  if (at == nullptr) return false;
  const bool none = tombstones == Tombstones::kDropped && at->tombstones_ahead();
  HEXAD_TRY_ASSIGN(const RunLeafAddress address, at->leaf());
  HEXAD_TRY_ASSIGN(const std::optional<RunLeaf> leaf,
                   read_run_leaf(at->source(), address, at->key(),
                                 none ? LeafTombstones::kNone : LeafTombstones::kAny));
  if (!leaf.has_value()) return false;
  from = &at->source();
  const Status taken = into.take_over(*leaf);
  from = nullptr;
  HEXAD_TRY(taken);
  HEXAD_TRY(cursor.skip_leaf());
  return true;
}

Status merge_all(RunMergeCursor& cursor, Tombstones tombstones, RunWriter& into,
                 const std::function<Status()>& between, TakingFrom& taking) {
  constexpr std::uint64_t kBetween = 256;  // entries
  HEXAD_TRY(cursor.seek_to_first());
  for (std::uint64_t entry = 0; cursor.valid(); ++entry) {
    HEXAD_TRY_ASSIGN(const bool taken_over, take_over_leaf(cursor, tombstones, into, taking));
    if (between && (taken_over || entry % kBetween == 0)) HEXAD_TRY(between());
    if (taken_over) continue;
    const std::optional<std::string_view> value = cursor.value();
    if (value.has_value() || tombstones == Tombstones::kKept) {
      HEXAD_TRY(into.add(cursor.key(), value));
    }
    HEXAD_TRY(cursor.next());
  }
  HEXAD_TRY_ASSIGN(const RunCursor::Counts skipped, cursor.skipped());
  into.count_taken_over(skipped.entries, tombstones == Tombstones::kKept ? skipped.tombstones : 0);
  return {};
}

// What a merge hands on of the copies of its inputs.
struct Heritage {
  const InheritPiece inherit;
  const RunMergeCursor* from = nullptr;  // null: it has ended
  bool last = false;                     // of blocks of data
  bool any = false;
  TakingFrom taking = nullptr;
};

}  // namespace

Status merge_runs(std::span<const std::shared_ptr<RunReader>> newest_first, Tombstones tombstones,
                  RunWriter& into, const std::function<Status()>& between,
                  const InheritPiece& inherit) {
  RunMergeCursor cursor(newest_first, RunCaching::kPast);
  if (!inherit) {
    TakingFrom taking = nullptr;
    return merge_all(cursor, tombstones, into, between, taking);
  }
  const auto heritage = std::make_shared<Heritage>(Heritage{inherit, &cursor});
  into.set_watcher([heritage](RunPieceKind kind, const RunBlockAddress& address, ByteView stored,
                              const RunBlockAddress* from) {
    Heritage& of = *heritage;
    if (kind == RunPieceKind::kData) {
      if (from != nullptr) {
        of.last = of.taking->has_copy(kind, *from);
      } else if (of.from != nullptr && of.from->valid()) {
        of.last = of.from->has_copy();
      }
      of.any = of.any || of.last;
    }
    if (kind == RunPieceKind::kData ? of.last : of.any) of.inherit(kind, address.offset, stored);
  });
  Status merged = merge_all(cursor, tombstones, into, between, heritage->taking);
  heritage->from = nullptr;
  return merged;
}

}  // namespace hexad::kv
