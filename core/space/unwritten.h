// What is in flight and will turn out to lack cells on some devices when it is published, and what
// was written there since: doc/invariants.md#coming-back, #replacing-while-the-store-serves.
// What was in flight when devices were taken in counts as lacking there until it has settled (BK6).
// Until a root names a device that has taken the place of another nothing counts on it (RP3); and
// what was in flight when its number changed hands was written to the other one (RP4).
//
// Lock: none; Space has it under its own.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "alloc/zone_set.h"
#include "base/ids.h"

namespace hexad::core {

class Unwritten {
 public:
  // Outlives it.
  explicit Unwritten(const alloc::ZoneSet& zones) : zones_(zones) {}

  // BK6: devices have been taken in.
  void expect();
  // Units in flight that may lack on the device.
  std::uint64_t units_on(DeviceId device) const;
  // In flight -> live, or free.
  void settle(const alloc::Extent& extent);

  // RP3: another device is about to be used under the number.
  void begin_in_place(DeviceId device);
  bool is_in_place(DeviceId device) const { return in_place_.contains(device); }
  // Whether it was.
  bool end_in_place(DeviceId device) { return in_place_.erase(device) > 0; }
  // RP4: what is in flight is written to another device than has the number from now on.
  void note_elsewhere(DeviceId device);
  // RP4: the slots, one bit each, on which what begins there was written to another device.
  std::uint64_t slots_elsewhere(const alloc::Extent& extent) const;

  // Cells that were missing and have been written.
  struct Filled {
    std::uint64_t cells = 0;
    std::uint64_t bytes = 0;
  };
  void note_filled(DeviceId device, std::uint64_t bytes);
  Filled filled(DeviceId device) const;

 private:
  using Name = std::pair<alloc::ZoneId, std::uint32_t>;  // zone and first unit
  static Name name_of(const alloc::Extent& extent) { return {extent.zone, extent.unit}; }

  const alloc::ZoneSet& zones_;
  std::map<Name, std::uint32_t> expected_;  // units; of expect(), in flight still
  std::set<DeviceId> in_place_;
  std::map<Name, std::uint64_t> elsewhere_;  // slots
  std::map<DeviceId, Filled> filled_;
};

}  // namespace hexad::core
