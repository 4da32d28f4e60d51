// What a record gives up, against what is in use: metadata comes from devices, and what it says may
// contradict itself behind checksums that are right.
#include <algorithm>
#include <vector>

#include "core/space/space.h"

namespace hexad::core {

namespace {

Error contradiction(const alloc::Extent& extent, const std::string& how) {
  return Error{
      ErrorCode::kCorruption,
      alloc::to_string(extent) + " is given up " + how + ": the metadata contradicts itself",
      "Run hexad fsck POOL."};
}

}  // namespace

Status Space::check_releases(const LogRecord& record) {
  if (record.freed.empty() && record.packed_releases.empty() && record.unplaced_releases.empty())
    return {};
  std::vector<alloc::Extent> freed = record.freed;
  std::vector<PackedRelease> packed = record.packed_releases;
  for (const LogPlace& release : record.unplaced_releases) {
    const std::optional<LogBlobs::Found> found = log_blobs_.find(release);
    if (!found.has_value()) {
      return Error{ErrorCode::kCorruption,
                   "blob " + std::to_string(release.index) + " of LSN " +
                       std::to_string(release.lsn) +
                       " is given up, and nobody wrote it: the metadata contradicts itself",
                   "Run hexad fsck POOL."};
    }
    if (!found->place.has_value()) continue;  // it has no space yet
    const UnplacedPlace& place = *found->place;
    if (place.placement == Placement::kPacked) {
      packed.push_back({place.where.zone, place.where.unit, place.stored});
    } else {
      freed.push_back(place.where);
    }
  }
  std::sort(freed.begin(), freed.end());
  std::sort(packed.begin(), packed.end(), [](const PackedRelease& a, const PackedRelease& b) {
    return std::pair(a.zone, a.unit) < std::pair(b.zone, b.unit);
  });

  const io::Lock lock(mutex_);
  for (std::size_t i = 0; i < freed.size(); ++i) {
    if (!zones_.may_die(freed[i])) return contradiction(freed[i], "and not in use");
    if (i > 0 && freed[i - 1].zone == freed[i].zone && freed[i - 1].end() > freed[i].unit) {
      return contradiction(freed[i], "twice");
    }
  }
  for (std::size_t i = 0; i < packed.size();) {
    const alloc::Extent begin{packed[i].zone, packed[i].unit, 1};
    std::uint64_t bytes = 0;
    for (; i < packed.size() && packed[i].zone == begin.zone && packed[i].unit == begin.unit; ++i) {
      bytes += packed[i].bytes;
    }
    if (!zones_.may_die(begin)) return contradiction(begin, "and not in use");
    const std::optional<alloc::PackStripe> pack = zones_.pack_at(begin.zone, begin.unit);
    if (pack.has_value() && pack->live < bytes) {
      return contradiction(begin, std::to_string(bytes) + " bytes of it, of which " +
                                      std::to_string(pack->live) + " are alive,");
    }
    // Without one: it is in flight.
  }
  return {};
}

}  // namespace hexad::core
