// Maps from the first unit of a run to its length, or to something that has `units`: whose run
// overlaps another one.
#pragma once

#include <cstdint>
#include <iterator>

#include "alloc/zone.h"

namespace hexad::alloc {

inline std::uint32_t length_of(std::uint32_t units) { return units; }
template <typename Entry>
std::uint32_t length_of(const Entry& entry) {
  return entry.units;
}

// The first entry that overlaps `run`; or end(). Precondition: no two of the map overlap.
template <typename Map>
auto first_overlap(Map& map, UnitRun run) {
  auto at = map.upper_bound(run.unit);
  if (at != map.begin()) {
    const auto before = std::prev(at);
    if (std::uint64_t{before->first} + length_of(before->second) > run.unit) return before;
  }
  return at != map.end() && at->first < run.end() ? at : map.end();
}

template <typename Map>
bool overlaps(const Map& map, UnitRun run) {
  return first_overlap(map, run) != map.end();
}

}  // namespace hexad::alloc
