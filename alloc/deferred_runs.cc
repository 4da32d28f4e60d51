#include "alloc/deferred_runs.h"

#include "alloc/run_map.h"
#include "base/assert.h"

namespace hexad::alloc {

bool DeferredRuns::overlap(UnitRun run) const { return overlaps(deferred_, run); }

std::optional<Lsn> DeferredRuns::oldest() const {
  return by_lsn_.empty() ? std::nullopt : std::optional(by_lsn_.begin()->first);
}

void DeferredRuns::add(UnitRun run, Lsn freed, Lsn born) {
  deferred_[run.unit] = {run.units, freed, born};
  by_lsn_.emplace(freed, run.unit);
  units_ += run.units;
}

void DeferredRuns::drop(UnitRun run) {
  HEXAD_ASSERT(held_.empty());  // an opening replays before anybody reads
  for (auto at = first_overlap(deferred_, run); at != deferred_.end();
       at = first_overlap(deferred_, run)) {
    const UnitRun whole{at->first, at->second.units};
    const Lsn freed = at->second.freed;
    const Lsn born = at->second.born;
    deferred_.erase(at);
    by_lsn_.erase({freed, whole.unit});
    units_ -= whole.units;
    if (whole.unit < run.unit) add({whole.unit, run.unit - whole.unit}, freed, born);
    if (whole.end() > run.end()) {
      add({static_cast<std::uint32_t>(run.end()),
           static_cast<std::uint32_t>(whole.end() - run.end())},
          freed, born);
    }
  }
}

std::uint64_t DeferredRuns::units_in(UnitRun run) const {
  std::uint64_t units = 0;
  auto at = first_overlap(deferred_, run);
  for (; at != deferred_.end() && at->first < run.end(); ++at) {
    const std::uint64_t first = std::max(at->first, run.unit);
    units += std::min(std::uint64_t{at->first} + at->second.units, run.end()) - first;
  }
  return units;
}

std::vector<std::uint32_t> DeferredRuns::take_unneeded(std::span<const ReadRange> readers) {
  std::vector<std::uint32_t> units;
  for (auto at = held_.begin(); at != held_.end();) {
    if (std::binary_search(readers.begin(), readers.end(), at->first)) {
      ++at;
      continue;
    }
    units.insert(units.end(), at->second.begin(), at->second.end());
    at = held_.erase(at);
  }
  return units;
}

std::uint64_t DeferredRuns::held_for(const ReadRange& reader) const {
  const auto at = held_.find(reader);
  std::uint64_t units = 0;
  if (at == held_.end()) return units;
  for (const std::uint32_t unit : at->second) units += deferred_.at(unit).units;
  return units;
}

const char* DeferredRuns::find_fault() const {
  std::uint64_t sum = 0;
  for (const auto& [unit, entry] : deferred_) {
    std::size_t places = by_lsn_.contains({entry.freed, unit}) ? 1 : 0;
    for (const auto& [reader, units] : held_) {
      if (!units.contains(unit)) continue;
      ++places;
      if (!reader.needs(entry.born, entry.freed)) return "Z5: held for nothing";
    }
    if (places != 1) return "Z5: a deferred run is not in one index";
    sum += entry.units;
  }
  std::size_t indexed = by_lsn_.size();
  for (const auto& [reader, units] : held_) indexed += units.size();
  if (indexed != deferred_.size()) return "Z5: the indexes have too many";
  return sum == units_ ? nullptr : "Z4: a counter is wrong";
}

}  // namespace hexad::alloc
