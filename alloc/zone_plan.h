// Chooses the slabs of the next zone. A pure function.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "alloc/zone.h"
#include "base/error.h"

namespace hexad::alloc {

// What one device has left: the numbers of its free slabs, ascending. Only devices that may be
// used: live ones, with data role.
struct DeviceSpace {
  DeviceId device = 0;
  std::vector<std::uint32_t> free_slabs;
};

// One slab on each of `n` distinct devices: those with the most free slabs (ties: lower id), the
// lowest free slab of each. Taking from the fullest stock first wastes nothing that any other
// order could use. The slots are in order of device id, rotated by `zone`, so that over many zones
// each device serves each role equally often.
// Errors: kInvalidArgument (n is 0, above kMaxZoneSlots, or a device given twice), kNoSpace (fewer
// than n devices have a free slab; the message counts).
Result<std::vector<ZoneSlot>> plan_zone(std::span<const DeviceSpace> devices, std::uint32_t n,
                                        ZoneId zone);

// How many zones plan_zone() can make from these, if each takes its slabs: the largest z for which
// the sum of min(free slabs, z) reaches n z. For capacity reports.
std::uint64_t zones_left(std::span<const DeviceSpace> devices, std::uint32_t n);
// The same from how many free slabs each device has.
std::uint64_t zones_left(std::span<const std::uint64_t> free_slabs, std::uint32_t n);

}  // namespace hexad::alloc
