// Runs of a zone that are dead and not free yet: somebody may still look at them (Z5 of
// alloc/zone_set.h). Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "alloc/zone.h"
#include "base/ids.h"

namespace hexad::alloc {

// What somebody who reads for long may still look at: stripes that were born at or before `upto`,
// of those that were freed behind `from`.
struct ReadRange {
  Lsn from = 0;
  Lsn upto = 0;

  bool needs(Lsn born, Lsn freed) const { return born <= upto && freed > from; }
  auto operator<=>(const ReadRange&) const = default;
};

class DeferredRuns {
 public:
  struct Deferred {
    std::uint32_t units = 0;
    Lsn freed = 0;
    Lsn born = 0;
  };

  std::uint64_t units() const { return units_; }
  // Units of `run` that are deferred.
  std::uint64_t units_in(UnitRun run) const;
  bool overlap(UnitRun run) const;
  // The lowest LSN among those that no reclaim() has looked at; nothing when there are none.
  std::optional<Lsn> oldest() const;
  const std::map<std::uint32_t, Deferred>& by_unit() const { return deferred_; }

  void add(UnitRun run, Lsn freed, Lsn born);
  // What of `run` is deferred is so no longer. Precondition: !holds_any().
  void drop(UnitRun run);
  // Those up to `limit` are held for a reader, or free: then `free`, a function of the run, is
  // called.
  template <typename Free>
  void reclaim(Lsn limit, std::span<const ReadRange> readers, const Free& free) {
    while (!by_lsn_.empty() && by_lsn_.begin()->first <= limit) {
      const std::uint32_t unit = by_lsn_.begin()->second;
      by_lsn_.erase(by_lsn_.begin());
      settle(unit, readers, free);
    }
  }
  // What is held for none of `readers` any more is held for another of them, or free. Both sorted.
  template <typename Free>
  void review_held(std::span<const ReadRange> readers, const Free& free) {
    for (const std::uint32_t unit : take_unneeded(readers)) settle(unit, readers, free);
  }
  bool holds_any() const { return !held_.empty(); }
  std::uint64_t held_for(const ReadRange& reader) const;  // units

  // Z5: what is wrong, or null.
  const char* find_fault() const;

 private:
  // Held for the first reader that needs it, else free.
  template <typename Free>
  void settle(std::uint32_t unit, std::span<const ReadRange> readers, const Free& free) {
    const auto at = deferred_.find(unit);
    for (const ReadRange& reader : readers) {
      if (!reader.needs(at->second.born, at->second.freed)) continue;
      held_[reader].insert(unit);
      return;
    }
    const UnitRun run{unit, at->second.units};
    deferred_.erase(at);
    units_ -= run.units;
    free(run);
  }
  std::vector<std::uint32_t> take_unneeded(std::span<const ReadRange> readers);

  std::map<std::uint32_t, Deferred> deferred_;  // by first unit
  std::uint64_t units_ = 0;
  // Each in one of two: {freed, first unit} of those that no reclaim() has looked at, and those
  // that it holds for a reader, by first unit.
  std::set<std::pair<Lsn, std::uint32_t>> by_lsn_;
  std::map<ReadRange, std::set<std::uint32_t>> held_;
};

}  // namespace hexad::alloc
