// A store that gets a device more, or has one less.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tests/core/faults/changing_world.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {

inline RuntimeOptions growing() {
  RuntimeOptions options = without_cache();
  options.catch_up = CatchUp::kWhenAsked;
  options.returns = Returns::kWhenAsked;
  options.memtable_size = 64_KiB;
  return options;
}

struct GrowingWorld : ChangingWorld {
  int written = 0;
  std::uint64_t patience = RuntimeOptions().device_patience;
  LogDurability durability = LogDurability::kFull;

  static std::string bytes(int i) { return noise(i % 4 == 0 ? 200'000 : 3000, 7000 + i); }
  bool put(Store& store) {
    Transaction t;
    t.put(kDefaultCollection, "w" + std::to_string(written), bytes(written));
    if (!store.commit(std::move(t)).ok()) return false;
    ++written;
    return true;
  }
  void churn(Store& store, int count) {
    for (int i = 0; i < count; ++i) expect(put(store), "a commit has failed");
  }
  std::string check(Store& store) const {
    for (int i = 0; i < written; ++i) {
      const Result<Bytes> found = store.get(kDefaultCollection, "w" + std::to_string(i));
      if (!found.ok()) return " w" + std::to_string(i) + ": " + found.error().to_string();
      if (as_text(*found) != std::string_view(bytes(i))) return " w" + std::to_string(i);
    }
    return read_all(store);
  }
  // Everything is there, and every cell right.
  void expect_right(Store& store) {
    problem += check(store);
    look_deep(store);
  }
  static std::size_t data_devices(Store& store) {
    const std::vector<DeviceStatus> all = store.status().devices;
    return static_cast<std::size_t>(std::count_if(
        all.begin(), all.end(), [](const DeviceStatus& one) { return one.role == "data"; }));
  }
  void expect_whole(Store& store, std::size_t devices) {
    const StoreStatus status = store.status();
    expect(status.health == Health::kOk, "not whole");
    expect(status.faults_tolerated == 2, "tolerates " + std::to_string(status.faults_tolerated));
    expect(status.warnings.empty(), "warned: " + warning_of(store));
    expect(data_devices(store) == devices, std::to_string(data_devices(store)) + " devices");
  }
  template <typename Use>
  void open(const Use& use, Access access = Access::kReadWrite) {
    RuntimeOptions how = growing();
    how.access = access;
    how.device_patience = patience;
    how.log_durability = durability;
    open_with(how, use);
  }
  // What reaches no disk from some request of `use` on reaches none until the power is cut.
  template <typename Use>
  void crash(const Use& use) {
    system.run([&] {
      RuntimeOptions how = growing();
      how.log_durability = durability;
      Result<Store> store = Store::open(pool, how, &system);
      if (store.ok()) use(*store);
      if (!store.ok()) problem += " open: " + store.error().to_string();
    });
    system.set_hook(nullptr);
    system.power_cut();
  }
  void read_without_any_two(const std::vector<std::string>& disks, std::size_t step = 1) {
    without_any_two(disks, step, 0, [&] {
      open([&](Store& store) { problem += check(store); }, Access::kReadOnly);
    });
  }
  std::vector<std::string> all_disks() const { return pool.devices; }
};

inline PoolDescription with_new(PoolDescription pool) {
  pool.devices.push_back(kNew);
  return pool;
}

}  // namespace hexad::testing
