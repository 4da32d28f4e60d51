// Roots as mkfs leaves them, for tests of which root counts.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "alloc/root_choice.h"

namespace hexad::alloc::testing {

inline const Uuid kSampleStore{{1, 2, 3}};

inline constexpr std::uint64_t kMaker = 1;    // nonce of mkfs
inline constexpr std::uint64_t kOpening = 2;  // and of an opening

inline Uuid device_uuid(DeviceId id) { return Uuid{{9, static_cast<std::uint8_t>(id)}}; }

// The failure domain of a device, where their names stand in a row, a letter each; empty: none has
// one.
inline std::string domain_of(DeviceId id, std::string_view domains) {
  return domains.empty() ? std::string() : std::string(1, domains[id % domains.size()]);
}

// As mkfs leaves it.
inline Root first_root(std::uint32_t n, std::string_view domains = "",
                       std::uint32_t domain_cells = 0) {
  Root root;
  root.store = kSampleStore;
  root.epoch = 1;
  root.sequence = kMade;
  root.promised_epoch = 1;
  root.writers = {{1, 1, kMaker}};
  root.next_device = n;
  root.domain_cells = domain_cells;
  for (DeviceId id = 0; id < n; ++id) {
    RootDevice row;
    row.id = id;
    row.uuid = device_uuid(id);
    row.domain = domain_of(id, domains);
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
