// Since when stripes of a zone are what they are: of live runs, the LSN that published them (Z6 of
// alloc/zone_set.h). Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "alloc/zone.h"
#include "base/ids.h"

namespace hexad::alloc {

class StripeBirths {
 public:
  struct Birth {
    std::uint32_t units = 0;
    Lsn lsn = 0;
  };

  bool empty() const { return births_.empty(); }
  void set(UnitRun run, Lsn lsn);
  // The run that begins at `unit`, published just now, holds what was there at `born` already.
  void born_before(std::uint32_t unit, Lsn born);
  // The first of the run, 0 where any may be old. It has none afterwards.
  Lsn take(UnitRun run);
  // Births at or before `lsn` need not be known any more.
  void forget(Lsn lsn);

  const std::map<std::uint32_t, Birth>& by_unit() const { return births_; }
  // Both indexes have the same.
  bool is_whole() const;

 private:
  std::map<std::uint32_t, Birth> births_;             // by first unit
  std::set<std::pair<Lsn, std::uint32_t>> by_birth_;  // {LSN, first unit}
};

}  // namespace hexad::alloc
