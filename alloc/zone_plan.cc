#include "alloc/zone_plan.h"

#include <algorithm>
#include <string>

namespace hexad::alloc {

Result<std::vector<ZoneSlot>> plan_zone(std::span<const DeviceSpace> devices, std::uint32_t n,
                                        ZoneId zone) {
  if (n == 0 || n > kMaxZoneSlots) {
    return Error{ErrorCode::kInvalidArgument,
                 "a zone of " + std::to_string(n) + " slabs is not possible",
                 "k + m has to be from 1 to " + std::to_string(kMaxZoneSlots) + "."};
  }
  std::vector<const DeviceSpace*> usable;
  for (const DeviceSpace& device : devices) {
    if (!device.free_slabs.empty()) usable.push_back(&device);
  }
  if (usable.size() < n) {
    return Error{ErrorCode::kNoSpace,
                 "a zone needs a free slab on " + std::to_string(n) + " devices; " +
                     std::to_string(usable.size()) + " of " + std::to_string(devices.size()) +
                     " have one",
                 kMakeRoom};
  }
  const auto by_id = [](const DeviceSpace* a, const DeviceSpace* b) {
    return a->device < b->device;
  };
  std::sort(usable.begin(), usable.end(), by_id);
  for (std::size_t i = 1; i < usable.size(); ++i) {
    if (usable[i - 1]->device == usable[i]->device) {
      return Error{ErrorCode::kInvalidArgument,
                   "device " + std::to_string(usable[i]->device) + " is given twice", ""};
    }
  }
  std::stable_sort(usable.begin(), usable.end(), [](const DeviceSpace* a, const DeviceSpace* b) {
    return a->free_slabs.size() > b->free_slabs.size();
  });
  usable.resize(n);
  std::sort(usable.begin(), usable.end(), by_id);
  std::rotate(usable.begin(), usable.begin() + zone % n, usable.end());
  std::vector<ZoneSlot> slots;
  for (const DeviceSpace* device : usable) {
    slots.push_back({device->device, device->free_slabs.front()});
  }
  return slots;
}

std::uint64_t zones_left(std::span<const DeviceSpace> devices, std::uint32_t n) {
  std::vector<std::uint64_t> free_slabs;
  free_slabs.reserve(devices.size());
  for (const DeviceSpace& device : devices) free_slabs.push_back(device.free_slabs.size());
  return zones_left(free_slabs, n);
}

std::uint64_t zones_left(std::span<const std::uint64_t> free_slabs, std::uint32_t n) {
  if (n == 0) return 0;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  for (const std::uint64_t slabs : free_slabs) high += slabs;
  high /= n;
  // The condition holds up to some z and never beyond: both sides grow with z, the left by at most
  // what is left over.
  while (low < high) {
    const std::uint64_t z = low + (high - low + 1) / 2;
    std::uint64_t taken = 0;
    for (const std::uint64_t slabs : free_slabs) taken += std::min(slabs, z);
    if (taken >= n * z) {
      low = z;
    } else {
      high = z - 1;
    }
  }
  return low;
}

}  // namespace hexad::alloc
