// A set of units kept as disjoint runs that do not touch: which units are missing on a slot.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "alloc/zone.h"

namespace hexad::alloc {

class UnitSet {
 public:
  // Idempotent; O(log n + runs touched). An empty run changes nothing.
  void insert(UnitRun run);
  void erase(UnitRun run);
  bool intersects(UnitRun run) const;
  // The parts of `run` that are in the set, in order.
  std::vector<UnitRun> overlap(UnitRun run) const;
  std::vector<UnitRun> runs() const;
  std::uint64_t units() const { return units_; }
  bool empty() const { return runs_.empty(); }

 private:
  std::map<std::uint32_t, std::uint32_t> runs_;  // first unit -> units
  std::uint64_t units_ = 0;
};

}  // namespace hexad::alloc
