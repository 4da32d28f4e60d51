#include "core/check/fsck_moment.h"

#include <algorithm>
#include <iterator>

namespace hexad::core {

FsckMoment::FsckMoment(Space& space, const LogBlobs& log_blobs) : payloads_(log_blobs.payloads()) {
  for (const alloc::ZoneId id : space.zone_ids()) {
    Zone& zone = zones_[id];
    for (const alloc::UnitRun& run : space.live_runs(id)) {
      if (!zone.live.empty() && zone.live.back().end() == run.unit) {
        zone.live.back().units += run.units;
      } else {
        zone.live.push_back(run);
      }
    }
    zone.packs = space.packs(id);
  }
}

bool FsckMoment::is_live(const alloc::Extent& extent) const {
  const auto zone = zones_.find(extent.zone);
  if (zone == zones_.end()) return false;
  const std::vector<alloc::UnitRun>& live = zone->second.live;
  const auto behind = std::upper_bound(
      live.begin(), live.end(), extent.unit,
      [](std::uint32_t unit, const alloc::UnitRun& run) { return unit < run.unit; });
  return behind != live.begin() && std::prev(behind)->end() >= extent.end();
}

bool FsckMoment::was_payload(const LogPlace& place) const {
  return std::binary_search(payloads_.begin(), payloads_.end(), place);
}

}  // namespace hexad::core
