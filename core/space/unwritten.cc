#include "core/space/unwritten.h"

#include <algorithm>
#include <vector>

namespace hexad::core {

// What is in flight from an earlier return on still is, so nothing is forgotten.
void Unwritten::expect() {
  expected_.clear();
  for (const alloc::ZoneId zone : zones_.zone_ids()) {
    for (const alloc::UnitRun& run : zones_.in_flight_runs(zone)) {
      expected_.emplace(Name(zone, run.unit), run.units);
    }
  }
}

std::uint64_t Unwritten::units_on(DeviceId device) const {
  std::uint64_t lacking = 0;
  for (const auto& [at, units] : expected_) {
    const std::vector<alloc::ZoneSlot>& slots = *zones_.slots(at.first);
    const bool there = std::any_of(slots.begin(), slots.end(),
                                   [device](const auto& slot) { return slot.device == device; });
    if (there) lacking += units;
  }
  return lacking;
}

void Unwritten::settle(const alloc::Extent& extent) {
  expected_.erase(name_of(extent));
  elsewhere_.erase(name_of(extent));
}

void Unwritten::begin_in_place(DeviceId device) {
  in_place_.insert(device);
  note_elsewhere(device);
}

void Unwritten::note_elsewhere(DeviceId device) {
  for (const alloc::ZoneId zone : zones_.zone_ids()) {
    const std::vector<alloc::ZoneSlot>& slots = *zones_.slots(zone);
    for (std::uint32_t slot = 0; slot < slots.size(); ++slot) {
      if (slots[slot].device != device) continue;
      for (const alloc::UnitRun& run : zones_.in_flight_runs(zone)) {
        elsewhere_[{zone, run.unit}] |= std::uint64_t{1} << slot;
      }
    }
  }
}

std::uint64_t Unwritten::slots_elsewhere(const alloc::Extent& extent) const {
  const auto found = elsewhere_.find(name_of(extent));
  return found == elsewhere_.end() ? 0 : found->second;
}

void Unwritten::note_filled(DeviceId device, std::uint64_t bytes) {
  Filled& filled = filled_[device];
  ++filled.cells;
  filled.bytes += bytes;
}

Unwritten::Filled Unwritten::filled(DeviceId device) const {
  const auto found = filled_.find(device);
  return found == filled_.end() ? Filled() : found->second;
}

}  // namespace hexad::core
