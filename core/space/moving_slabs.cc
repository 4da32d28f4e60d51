#include "core/space/moving_slabs.h"

#include <algorithm>

#include "io/bounded_reads.h"

namespace hexad::core {

SlabMoving* MovingSlabs::find(alloc::ZoneId zone) {
  const auto found = moving_.find(zone);
  return found == moving_.end() ? nullptr : &found->second;
}

const SlabMoving* MovingSlabs::find(alloc::ZoneId zone) const {
  const auto found = moving_.find(zone);
  return found == moving_.end() ? nullptr : &found->second;
}

std::uint64_t MovingSlabs::closed_units() const {
  std::uint64_t closed = 0;
  for (const auto& [zone, moving] : moving_) closed += moving.closed;
  return closed;
}

void MovingSlabs::begin_in_place(DeviceId device, const alloc::ZoneSet& zones) {
  for (auto& [zone, moving] : moving_) {
    if (moving.move.to.device == device && !moving.switched) moving.void_copy = true;
    // Should the zone go back to its slab there.
    if (moving.move.from.device == device) moving.missing_before = zones.used_runs(zone);
  }
}

void MovingSlabs::note_images(Lsn lsn) {
  for (auto& [zone, moving] : moving_) {
    if (moving.switched) moving.in_image = lsn;
  }
}

std::vector<alloc::ZoneId> MovingSlabs::retire_moved(io::Nanos now) {
  std::vector<alloc::ZoneId> moved;
  for (auto at = moving_.begin(); at != moving_.end();) {
    const SlabMoving& moving = at->second;
    if (moving.in_image == 0) {
      ++at;
      continue;
    }
    retire(moving.move.from, moving.in_image, now);
    moved.push_back(at->first);
    at = moving_.erase(at);
  }
  return moved;
}

std::uint32_t MovingSlabs::retired_on(DeviceId device) const {
  return static_cast<std::uint32_t>(
      std::count_if(retired_.begin(), retired_.end(),
                    [device](const Retired& slab) { return slab.place.device == device; }));
}

std::vector<std::uint32_t> MovingSlabs::leaving(DeviceId device) const {
  std::vector<std::uint32_t> slabs;
  for (const Retired& slab : retired_) {
    if (slab.place.device == device) slabs.push_back(slab.place.slab);
  }
  for (const auto& [zone, moving] : moving_) {
    if (!moving.switched || moving.move.from.device != device) continue;
    slabs.push_back(moving.move.from.slab);
  }
  return slabs;
}

// Readers from before the move have ended, and what they had asked of devices.
std::vector<alloc::ZoneSlot> MovingSlabs::take_free(Lsn oldest, io::Nanos now,
                                                    const std::function<bool(DeviceId)>& is_late) {
  std::vector<alloc::ZoneSlot> free;
  std::erase_if(retired_, [&](const Retired& slab) {
    const bool late = is_late(slab.place.device);
    if (late || is_written(slab.place) || oldest <= slab.as_of || now - slab.since < io::kSilence)
      return false;
    free.push_back(slab.place);
    return true;
  });
  return free;
}

bool MovingSlabs::is_written(const alloc::ZoneSlot& slab) const {
  const auto cell = cells_written_.lower_bound({slab, 0});
  return cell != cells_written_.end() && cell->slab == slab;
}

bool MovingSlabs::any_in_a_moment(io::Nanos now,
                                  const std::function<bool(DeviceId)>& counts) const {
  return std::any_of(retired_.begin(), retired_.end(), [&](const Retired& slab) {
    return now - slab.since <= io::kSilence && counts(slab.place.device);
  });
}

}  // namespace hexad::core
