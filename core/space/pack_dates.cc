#include "core/space/pack_dates.h"

#include <algorithm>
#include <utility>

namespace hexad::core {

void PackDates::note_written(const alloc::Extent& stripe, Lsn lsn) {
  const auto at = dates_.find(name_of(stripe));
  if (at != dates_.end()) at->second.written = std::min(at->second.written, lsn);
}

std::vector<PackUse> PackDates::uses(const alloc::ZoneSet& zones) {
  std::vector<PackUse> uses;
  std::map<Name, Dates> dates;
  for (const alloc::ZoneId zone : zones.zone_ids()) {
    for (const alloc::PackStripe& pack : zones.packs(zone)) {
      PackUse use{{zone, pack.run.unit, pack.run.units}, pack.live, pack.footer, 0, pack.born};
      const auto at = dates_.find({zone, pack.run.unit});
      if (at != dates_.end()) {
        use.born = at->second.born;
        use.written = at->second.written;
        dates.insert(dates.end(), *at);
      }
      uses.push_back(use);
    }
  }
  dates_ = std::move(dates);  // without those that are gone
  return uses;
}

}  // namespace hexad::core
