// A store that is written to while slabs of it move to other devices: small slabs, so that there
// are many, objects whose values are known, and the oracle for redundancy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/core/faults/attempted_objects.h"
#include "tests/core/faults/silent_disks.h"

namespace hexad::testing {

inline constexpr DeviceId kDrained = 2;
inline constexpr io::Nanos kPause = 5'000'000;  // between two commits where time passes otherwise

inline SimPoolOptions small_slabs(std::size_t count, std::uint64_t size = 16_MiB) {
  SimPoolOptions options;
  options.data_disks = count;
  options.device_size = size;
  options.slab_size = 1_MiB;
  return options;
}

inline RuntimeOptions churning() {
  RuntimeOptions options = without_cache();
  options.device_patience = 8;
  options.memtable_size = 64_KiB;
  options.returns = Returns::kWhenAsked;
  return options;
}

// Without the wait for what has been left.
inline MoveOptions until_empty() {
  MoveOptions options;
  options.progress = [](const MoveReport& report) {
    return report.slabs_moved == 0 || report.slabs_left > 0;
  };
  return options;
}

struct ChurnedWorld {
  io::SimSystem& system;
  const PoolDescription& pool;
  AttemptedObjects model = {};
  std::uint64_t seed = 1000;
  std::string problem = {};

  void expect(const Status& status, const std::string& what) {
    if (!status.ok()) problem += " " + what + ": " + status.error().to_string();
  }
  bool put(Store& store, const std::string& name) {
    const std::uint64_t value = seed++;
    model.attempt(name, value);
    Transaction t;
    t.put(kDefaultCollection, name, AttemptedObjects::bytes(value));
    if (!store.commit(std::move(t)).ok()) return false;
    model.acknowledge(name, value);
    return true;
  }
  bool put(Store& store) { return put(store, "name" + std::to_string(seed % 9)); }
  void churn(Store& store, int count) {
    for (int i = 0; i < count; ++i) {
      if (!put(store)) problem += " a commit has failed";
    }
  }
  static DeviceStatus device(Store& store, DeviceId id) {
    for (const DeviceStatus& device : store.status().devices) {
      if (device.id == id && device.role == "data") return device;
    }
    return {};
  }
  void move(Store& store) {
    const Result<MoveReport> moved = store.move_slabs();
    if (!moved.ok()) {
      problem += " move: " + moved.error().to_string();
    } else if (moved->slabs_left > 0) {
      problem += " " + std::to_string(moved->slabs_left) + " slabs left: " + moved->problem;
    }
  }
  void look_deep(Store& store) {
    const Result<FsckReport> fsck = store.fsck({.deep = true});
    if (!fsck.ok()) problem += " fsck: " + fsck.error().to_string();
    if (fsck.ok() && !fsck->findings.empty()) {
      problem += " " + fsck->findings.front().subject + ": " + fsck->findings.front().problem;
    }
  }
  void read_without(const std::vector<std::string>& gone) {
    for (const std::string& disk : gone) system.disk(disk).vanish();
    RuntimeOptions reading = without_cache();
    reading.access = Access::kReadOnly;
    {
      Result<Store> store = Store::open(pool, reading, &system);
      if (!store.ok()) problem += " open: " + store.error().to_string();
      if (store.ok()) problem += model.check(*store);
    }
    for (const std::string& disk : gone) system.disk(disk).appear();
    if (problem.empty()) return;
    problem += " (without";
    for (const std::string& disk : gone) problem += " " + disk;
    problem += ")";
  }
  // The oracle for redundancy: no two disks are needed.
  void read_without_any_two(std::size_t step = 1) {
    std::size_t number = 0;
    for (std::size_t a = 0; a < pool.devices.size(); ++a) {
      for (std::size_t b = a + 1; b < pool.devices.size() && problem.empty(); ++b) {
        if (number++ % step != seed % step) continue;
        read_without({pool.devices[a], pool.devices[b]});
      }
    }
  }
  void read_without_any() {
    for (const std::string& disk : pool.devices) {
      if (problem.empty()) read_without({disk});
    }
  }
};

}  // namespace hexad::testing
