// Roots as mkfs leaves them, for tests of which root counts.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "alloc/root_choice.h"

namespace hexad::alloc::testing {

inline const Uuid kSampleStore{{1, 2, 3}};

inline constexpr std::uint64_t kMaker = 1;    // nonce of mkfs
inline constexpr std::uint64_t kOpening = 2;  // and of an opening

inline Uuid device_uuid(DeviceId id) { return Uuid{{9, static_cast<std::uint8_t>(id)}}; }

// As mkfs leaves it.
inline Root first_root(std::uint32_t n) {
  Root root;
  root.store = kSampleStore;
  root.epoch = 1;
  root.sequence = kMade;
  root.promised_epoch = 1;
  root.writers = {{1, 1, kMaker}};
  root.next_device = n;
  for (DeviceId id = 0; id < n; ++id) {
    RootDevice row;
    row.id = id;
    row.uuid = device_uuid(id);
    root.devices.push_back(row);
  }
  return root;
}

// Every device of the root's table with it.
inline std::vector<DeviceRoots> all_with(const Root& root) {
  std::vector<DeviceRoots> devices;
  for (const RootDevice& row : root.devices) {
    devices.push_back({row.id, row.uuid, kSampleStore, {root}});
  }
  return devices;
}

inline Standing standing_of(const RootChoice& choice, DeviceId id) {
  for (const DeviceStanding& device : choice.devices) {
    if (device.id == id) return device.standing;
  }
  FAIL("no such device");
  return Standing::kMissing;
}

}  // namespace hexad::alloc::testing
