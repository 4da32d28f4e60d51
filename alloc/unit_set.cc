#include "alloc/unit_set.h"

#include <algorithm>

namespace hexad::alloc {

namespace {
std::uint64_t end_of(const std::pair<const std::uint32_t, std::uint32_t>& run) {
  return std::uint64_t{run.first} + run.second;
}
}  // namespace

void UnitSet::insert(UnitRun run) {
  if (run.units == 0) return;
  std::uint64_t first = run.unit;
  std::uint64_t end = run.end();
  auto at = runs_.upper_bound(run.unit);
  if (at != runs_.begin() && end_of(*std::prev(at)) >= first) --at;
  while (at != runs_.end() && at->first <= end) {
    first = std::min<std::uint64_t>(first, at->first);
    end = std::max(end, end_of(*at));
    units_ -= at->second;
    at = runs_.erase(at);
  }
  runs_.emplace(static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(end - first));
  units_ += end - first;
}

void UnitSet::erase(UnitRun run) {
  if (run.units == 0) return;
  auto at = runs_.upper_bound(run.unit);
  if (at != runs_.begin()) --at;
  while (at != runs_.end() && at->first < run.end()) {
    const std::uint32_t first = at->first;
    const std::uint64_t end = end_of(*at);
    if (end <= run.unit) {
      ++at;
      continue;
    }
    units_ -= at->second;
    at = runs_.erase(at);
    if (first < run.unit) {
      runs_.emplace_hint(at, first, run.unit - first);
      units_ += run.unit - first;
    }
    if (end > run.end()) {
      const auto rest = static_cast<std::uint32_t>(end - run.end());
      runs_.emplace_hint(at, static_cast<std::uint32_t>(run.end()), rest);
      units_ += rest;
    }
  }
}

std::vector<UnitRun> UnitSet::overlap(UnitRun run) const {
  std::vector<UnitRun> parts;
  auto at = runs_.upper_bound(run.unit);
  if (at != runs_.begin()) --at;
  for (; at != runs_.end() && at->first < run.end(); ++at) {
    const std::uint32_t first = std::max(at->first, run.unit);
    const std::uint64_t end = std::min(end_of(*at), run.end());
    if (end > first) parts.push_back({first, static_cast<std::uint32_t>(end - first)});
  }
  return parts;
}

bool UnitSet::intersects(UnitRun run) const { return !overlap(run).empty(); }

std::vector<UnitRun> UnitSet::runs() const {
  std::vector<UnitRun> all;
  for (const auto& [unit, units] : runs_) all.push_back({unit, units});
  return all;
}

}  // namespace hexad::alloc
