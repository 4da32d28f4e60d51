// Four data devices in memory with a root on each, and a log on the first two.
#pragma once

#include <catch2/catch.hpp>
#include <memory>

#include "alloc/device_layout.h"
#include "alloc/root.h"
#include "alloc/root_choice.h"
#include "core/space/members.h"
#include "io/executor.h"
#include "tests/core/device_table.h"

namespace hexad::core::testing {

struct MembershipWorld {
  static constexpr DeviceId kDevices = 4;
  static constexpr std::uint32_t kParities = 1;
  static constexpr std::uint64_t kNonce = 77;
  static constexpr std::uint64_t kLogSize = 256 << 10;

  MembershipWorld() {
    alloc::DeviceLayout layout;
    layout.device_size = alloc::kEndsSize + kLogSize;
    layout.log_offset = alloc::kHeadEnd;
    layout.log_size = kLogSize;
    for (DeviceId id = 0; id < kDevices; ++id) table.add(alloc::DeviceRole::kData, layout);
    store.bytes[0] = 9;
    devices = table.devices;
    alloc::Root root = first_root();
    for (DeviceId id = 0; id < kDevices; ++id) {
      const alloc::LaidOutDevice one = {table.rows[id].device.get(), layout.device_size};
      REQUIRE(alloc::write_root(one, root).ok());
    }
    members = std::make_unique<Members>(*executor, std::move(table.rows));
  }

  alloc::Root first_root() const {
    alloc::Root root;
    root.store = store;
    root.sequence = 7;
    root.epoch = 3;
    root.promised_epoch = 4;
    root.writers = {{root.epoch, root.epoch, kNonce}};
    for (DeviceId id = 0; id < kDevices; ++id) {
      alloc::RootDevice row;
      row.id = id;
      row.uuid.bytes[0] = static_cast<std::uint8_t>(id + 1);
      row.role = alloc::DeviceRole::kData;
      row.state = alloc::MemberState::kLive;
      row.confirmed_epoch = root.epoch;
      root.devices.push_back(row);
    }
    root.log_devices = {0, 1};
    root.next_device = kDevices;
    return root;
  }

  // Writes to the device have no effect and end with this.
  void fail(DeviceId id, ErrorCode code) {
    devices[id]->fail(io::IoOp::kWrite);
    devices[id]->failure = code;
  }
  void heal(DeviceId id) {
    devices[id]->fails = [](const io::IoRequest&) { return false; };
  }
  alloc::Root newest_root(DeviceId id) {
    const std::vector<alloc::Root> roots =
        alloc::read_roots({devices[id], devices[id]->shape.size}).value();
    REQUIRE_FALSE(roots.empty());
    alloc::Root newest = roots.front();
    for (const alloc::Root& root : roots) {
      if (root.sequence > newest.sequence) newest = root;
    }
    return newest;
  }

  std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  hexad::testing::DeviceTable table;
  std::vector<hexad::testing::TableDevice*> devices;
  Uuid store;
  std::unique_ptr<Members> members;
};

}  // namespace hexad::core::testing
