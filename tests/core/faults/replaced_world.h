// A store of which a device is lost, or answers, and a disk to take its place while it serves.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/core/faults/attempted_objects.h"
#include "tests/core/faults/changing_world.h"

namespace hexad::testing {

inline constexpr DeviceId kGone = 2;
inline constexpr const char* kOld = "dev2";

enum class How : std::uint8_t { kErrors, kHangs, kPulled };

inline RuntimeOptions replacing() {
  RuntimeOptions options = without_cache();
  options.catch_up = CatchUp::kWhenAsked;
  options.device_patience = 8;
  options.memtable_size = 64_KiB;
  return options;
}

struct ReplacedWorld : ChangingWorld {
  AttemptedObjects model = {};
  std::uint64_t seed = 1000;

  // Names are used again, so units are freed and given out again.
  bool put(Store& store) { return put(store, "name" + std::to_string(seed % 7)); }
  bool put(Store& store, const std::string& name) {
    const std::uint64_t value = seed++;
    model.attempt(name, value);
    Transaction t;
    t.put(kDefaultCollection, name, AttemptedObjects::bytes(value));
    if (!store.commit(std::move(t)).ok()) return false;
    model.acknowledge(name, value);
    return true;
  }
  void churn(Store& store, int count) {
    for (int i = 0; i < count; ++i) expect(put(store), "a commit has failed");
  }
  void lose(Store& store, How how, const std::string& disk = kOld, DeviceId id = kGone) {
    if (how == How::kErrors) {
      system.disk(disk).inject(
          {.kind = io::FaultKind::kWriteErrorBefore, .times = io::Fault::kForever});
    } else if (how == How::kPulled) {
      system.disk(disk).vanish();
    } else {
      system.set_hook([disk](const io::SimOp& op) -> std::optional<io::FaultKind> {
        if (op.disk != disk || op.op == io::IoOp::kRead) return std::nullopt;
        return io::FaultKind::kHang;
      });
    }
    for (int i = 0; i < 20 && state(store, id) != "failed"; ++i) churn(store, 1);
    expect(state(store, id) == "failed", "it has not left: " + state(store, id));
    if (how == How::kHangs) system.set_hook(nullptr);
    churn(store, 4);
    expect(put(store, "kept" + std::to_string(seed)), "a commit has failed");
    expect_ok(store.checkpoint(), "checkpoint");
    churn(store, 3);
  }
  void catch_up(Store& store) {
    const Result<CatchUpReport> report = store.catch_up();
    expect_ok(report.status(), "catch up");
    expect(!report.ok() || report->bytes_missing == 0, "it still lacks something");
    expect(store.status().health == Health::kOk, "not whole");
  }
  template <typename Use>
  void open(const Use& use, Access access = Access::kReadWrite) {
    RuntimeOptions how = replacing();
    how.access = access;
    open_with(how, use);
  }
  void read_without_any_two(const std::vector<std::string>& disks, std::size_t step = 1) {
    without_any_two(disks, step, seed, [&] {
      open([&](Store& store) { problem += model.check(store); }, Access::kReadOnly);
    });
  }
  // `path` is in the place of the old one from now on.
  void describe(const std::string& path) {
    for (std::string& one : pool.devices) {
      if (one == kOld) one = path;
    }
  }
  // Of whatever the pool has, with what belongs to it caught up.
  void end_well(std::size_t step = 1) {
    open([&](Store& store) {
      problem += model.check(store);
      look_deep(store);
      catch_up(store);
      churn(store, 3);
      look_deep(store);
    });
    read_without_any_two(pool.devices, step);
  }
};

// The store is open for a while, and the device has left it.
template <typename Use>
void with_one_lost(ReplacedWorld& world, const Use& use, How how = How::kErrors) {
  Result<Store> store = Store::open(world.pool, replacing(), &world.system);
  world.expect_ok(store.status(), "open");
  if (!store.ok()) return;
  world.churn(*store, 5);
  world.lose(*store, how);
  if (world.problem.empty()) use(*store);
}

}  // namespace hexad::testing
