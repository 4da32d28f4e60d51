// Slabs move to other devices while a store is open and serves: SL1 to SL6 of
// doc/invariants.md#slabs-that-move. In simulated time, with the power cut, and with disks that
// fail, behind each request of the moves.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/base/thinned.h"
#include "tests/core/faults/attempted_objects.h"
#include "tests/core/faults/silent_disks.h"

namespace hexad::testing {
namespace {

using io::Fault;
using io::FaultKind;
using io::IoOp;
using io::SimOp;
using io::SimSystem;

constexpr DeviceId kDrained = 2;
constexpr io::Nanos kPause = 5'000'000;  // between two commits where time passes otherwise

SimPoolOptions disks(std::size_t count, std::uint64_t size = 16_MiB) {
  SimPoolOptions options;
  options.data_disks = count;
  options.device_size = size;
  options.slab_size = 1_MiB;
  return options;
}

RuntimeOptions options() {
  RuntimeOptions options = without_cache();
  options.device_patience = 8;
  options.returns = Returns::kWhenAsked;
  options.memtable_size = 64_KiB;
  return options;
}

// Without the wait for what has been left.
MoveOptions until_empty() {
  MoveOptions options;
  options.progress = [](const MoveReport& report) {
    return report.slabs_moved == 0 || report.slabs_left > 0;
  };
  return options;
}

struct World {
  SimSystem& system;
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
    const auto count = static_cast<int>(pool.devices.size());
    for (int a = 0; a < count; ++a) {
      for (int b = a + 1; b < count && problem.empty(); ++b) {
        if (number++ % step != seed % step) continue;
        read_without({"dev" + std::to_string(a), "dev" + std::to_string(b)});
      }
    }
  }
};

TEST_CASE("slab_moves: a device is drained while commits go on") {
  SimOrigin origin(disks(8), fill);
  const auto system = origin.start(7);
  World world{*system, origin.pool()};
  DeviceStatus before;
  DeviceStatus after;
  DeviceStatus again;
  system->run([&] {
    {
      Result<Store> opened = Store::open(world.pool, options(), system.get());
      if (!opened.ok()) {
        world.problem = opened.error().to_string();
        return;
      }
      Store& store = *opened;
      world.churn(store, 30);
      before = World::device(store, kDrained);
      world.expect(store.drain_device(kDrained), "drain");
      bool over = false;
      const auto committer = system->executor().start("committer", [&] {
        while (!over && world.problem.empty()) {
          world.churn(store, 1);
          system->executor().sleep_for(kPause);
        }
      });
      world.move(store);
      over = true;
      committer->join();
      after = World::device(store, kDrained);
      world.problem += world.model.check(store);
      world.look_deep(store);
      world.churn(store, 30);
      again = World::device(store, kDrained);
      world.expect(store.close(), "close");
    }
    world.read_without_any_two();
  });
  REQUIRE(world.problem == "");
  CHECK(before.slabs_used > 0);
  CHECK(after.slabs_used == 0);
  CHECK(after.state == "draining");
  CHECK(again.slabs_used == 0);
}

TEST_CASE("slab_moves: the power fails behind each request of a drain") {
  SimOrigin origin(disks(7), fill);
  bool whole = false;
  for (std::uint64_t at = 0; !whole; at += kThinned * (1 + at / 16)) {
    CAPTURE(at);
    REQUIRE(at < 50'000);
    const auto system = origin.start(100 + at);
    World world{*system, origin.pool()};
    std::uint64_t left = at;
    bool struck = false;
    system->run([&] {
      Result<Store> opened = Store::open(world.pool, options(), system.get());
      if (!opened.ok()) {
        world.problem = opened.error().to_string();
        return;
      }
      Store& store = *opened;
      world.churn(store, 12);
      world.expect(store.drain_device(kDrained), "drain");
      system->set_hook([&](const SimOp&) -> std::optional<FaultKind> {
        if (left > 0) {
          --left;
          return std::nullopt;
        }
        struck = true;
        return FaultKind::kDeviceError;
      });
      bool over = false;
      const auto committer = system->executor().start("committer", [&] {
        while (!over && world.put(store)) {
        }
      });
      const Result<MoveReport> moved = store.move_slabs(until_empty());
      over = true;
      committer->join();
      whole = moved.ok() && moved->slabs_left == 0 && !struck;
      system->set_hook(nullptr);
    });
    system->power_cut();
    REQUIRE(world.problem == "");
    system->run([&] {
      world.read_without_any_two(7);
      if (!world.problem.empty()) return;
      {
        Result<Store> opened = Store::open(world.pool, options(), system.get());
        if (!opened.ok()) {
          world.problem = "again: " + opened.error().to_string();
          return;
        }
        Store& store = *opened;
        world.problem += world.model.check(store);
        world.look_deep(store);
        if (!world.problem.empty()) return;
        if (World::device(store, kDrained).state != "draining") world.problem += " forgotten";
        world.move(store);
        world.churn(store, 12);
        world.look_deep(store);
        if (World::device(store, kDrained).slabs_used > 0) world.problem += " not empty";
      }
      world.read_without_any_two(5);
    });
    REQUIRE(world.problem == "");
  }
}

// The one that is drained, one that takes its slabs, and the one with the log's first copy.
TEST_CASE("slab_moves: a disk fails at each request that it gets") {
  SimOrigin origin(disks(8), fill);
  for (const std::string disk : {"dev2", "dev7", "dev0"}) {
    bool whole = false;
    for (std::uint64_t at = 0; !whole; at += kThinned * (1 + at / 8)) {
      CAPTURE(disk, at);
      REQUIRE(at < 20'000);
      const auto system = origin.start(300 + at);
      World world{*system, origin.pool()};
      bool struck = false;
      system->run([&] {
        {
          Result<Store> opened = Store::open(world.pool, options(), system.get());
          if (!opened.ok()) {
            world.problem = opened.error().to_string();
            return;
          }
          Store& store = *opened;
          world.churn(store, 12);
          world.expect(store.drain_device(kDrained), "drain");
          std::uint64_t left = at;
          system->set_hook([&](const SimOp& op) -> std::optional<FaultKind> {
            if (op.disk != disk) return std::nullopt;
            if (left > 0) {
              --left;
              return std::nullopt;
            }
            struck = true;
            return at % 2 == 0 || op.op == IoOp::kFlush ? FaultKind::kDeviceError
                                                        : FaultKind::kHang;
          });
          bool over = false;
          const auto committer = system->executor().start("committer", [&] {
            while (!over && world.problem.empty()) {
              world.churn(store, 1);
              system->executor().sleep_for(kPause);
            }
          });
          const Result<MoveReport> moved = store.move_slabs(until_empty());
          if (!moved.ok()) world.problem += " move: " + moved.error().to_string();
          over = true;
          committer->join();
          whole = moved.ok() && moved->slabs_left == 0 && !struck;
          world.problem += world.model.check(store);
          system->set_hook(nullptr);
          system->disk(disk).release_hung();
          world.look_deep(store);
        }
        if (world.problem.empty()) world.read_without({disk});
        if (world.problem.empty()) world.read_without({disk, disk == "dev5" ? "dev4" : "dev5"});
      });
      REQUIRE(world.problem == "");
    }
  }
}

TEST_CASE("slab_moves: a full pool takes more once it has a device more") {
  SimOrigin origin(disks(6, 12_MiB), fill);
  const auto system = origin.start(5);
  World world{*system, origin.pool()};
  PoolDescription more = origin.pool();
  system->add_disk("dev6", std::make_shared<io::CowImage>(origin.content("dev0")->size()),
                   io::SimDiskOptions{});
  std::uint64_t objects = 0;
  std::uint64_t full = 0;
  system->run([&] {
    {
      Result<Store> opened = Store::open(world.pool, options(), system.get());
      if (!opened.ok()) {
        world.problem = opened.error().to_string();
        return;
      }
      Store& store = *opened;
      while (world.put(store, "more" + std::to_string(objects))) ++objects;
      full = objects;
      const Result<DeviceId> added = store.add_device("dev6");
      if (!added.ok()) {
        world.problem += " add: " + added.error().to_string();
        return;
      }
      world.move(store);
      while (world.put(store, "more" + std::to_string(objects))) ++objects;
      world.problem += world.model.check(store);
      world.look_deep(store);
      world.expect(store.close(), "close");
    }
    more.devices.emplace_back("dev6");
    World after{*system, more, world.model, 0, ""};
    after.read_without_any_two();
    world.problem += after.problem;
  });
  REQUIRE(world.problem == "");
  CHECK(full > 0);
  // A seventh more of each of the devices.
  CHECK(objects > full + full / 10);
}

// SL6: what a zone that moves has free is what a commit needs.
TEST_CASE("slab_moves: a commit that needs the space of a zone that moves gets it") {
  SimOrigin origin(disks(7, 12_MiB), fill);
  const auto system = origin.start(6);
  World world{*system, origin.pool()};
  std::uint64_t full = 0;
  std::uint64_t beside = 0;
  for (const bool moving : {false, true}) {
    const auto run = origin.start(6);
    World here{*run, origin.pool()};
    run->run([&] {
      Result<Store> opened = Store::open(here.pool, options(), run.get());
      if (!opened.ok()) {
        here.problem = opened.error().to_string();
        return;
      }
      Store& store = *opened;
      here.churn(store, 12);
      here.expect(store.drain_device(kDrained), "drain");
      if (!moving) {
        here.move(store);
        while (here.put(store, "more" + std::to_string(full))) ++full;
        return;
      }
      bool over = false;
      const auto mover = run->executor().start("mover", [&] {
        while (!over) {
          store.move_slabs().status().ignore();
          run->executor().sleep_for(1'000'000);
        }
      });
      // Short of what there is room for: none of these may fail.
      while (beside < full * 97 / 100 && here.put(store, "more" + std::to_string(beside))) ++beside;
      over = true;
      mover->join();
      here.problem += here.model.check(store);
    });
    REQUIRE(here.problem == "");
  }
  CHECK(full > 0);
  CHECK(beside == full * 97 / 100);
}

}  // namespace
}  // namespace hexad::testing
