// Slabs move to other devices while a store is open and serves: SL1 to SL6 of
// doc/invariants.md#slabs-that-move. In simulated time, with the power cut, and with disks that
// fail, behind each request of the moves.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/base/thinned.h"
#include "tests/core/faults/churned_world.h"

namespace hexad::testing {
namespace {

using io::Fault;
using io::FaultKind;
using io::IoOp;
using io::SimOp;
using io::SimSystem;

TEST_CASE("slab_moves: a device is drained while commits go on") {
  SimOrigin origin(small_slabs(8), fill);
  const auto system = origin.start(7);
  ChurnedWorld world{*system, origin.pool()};
  DeviceStatus before;
  DeviceStatus after;
  DeviceStatus again;
  system->run([&] {
    {
      Result<Store> opened = Store::open(world.pool, churning(), system.get());
      if (!opened.ok()) {
        world.problem = opened.error().to_string();
        return;
      }
      Store& store = *opened;
      world.churn(store, 30);
      before = ChurnedWorld::device(store, kDrained);
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
      after = ChurnedWorld::device(store, kDrained);
      world.problem += world.model.check(store);
      world.look_deep(store);
      world.churn(store, 30);
      again = ChurnedWorld::device(store, kDrained);
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
  SimOrigin origin(small_slabs(7), fill);
  bool whole = false;
  for (std::uint64_t at = 0; !whole; at += kThinned * (1 + at / 16)) {
    CAPTURE(at);
    REQUIRE(at < 50'000);
    const auto system = origin.start(100 + at);
    ChurnedWorld world{*system, origin.pool()};
    std::uint64_t left = at;
    bool struck = false;
    system->run([&] {
      Result<Store> opened = Store::open(world.pool, churning(), system.get());
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
        Result<Store> opened = Store::open(world.pool, churning(), system.get());
        if (!opened.ok()) {
          world.problem = "again: " + opened.error().to_string();
          return;
        }
        Store& store = *opened;
        world.problem += world.model.check(store);
        world.look_deep(store);
        if (!world.problem.empty()) return;
        if (ChurnedWorld::device(store, kDrained).state != "draining")
          world.problem += " forgotten";
        world.move(store);
        world.churn(store, 12);
        world.look_deep(store);
        if (ChurnedWorld::device(store, kDrained).slabs_used > 0) world.problem += " not empty";
      }
      world.read_without_any_two(5);
    });
    REQUIRE(world.problem == "");
  }
}

// The one that is drained, one that takes its slabs, and the one with the log's first copy.
TEST_CASE("slab_moves: a disk fails at each request that it gets") {
  SimOrigin origin(small_slabs(8), fill);
  for (const std::string disk : {"dev2", "dev7", "dev0"}) {
    bool whole = false;
    for (std::uint64_t at = 0; !whole; at += kThinned * (1 + at / 8)) {
      CAPTURE(disk, at);
      REQUIRE(at < 20'000);
      const auto system = origin.start(300 + at);
      ChurnedWorld world{*system, origin.pool()};
      bool struck = false;
      system->run([&] {
        {
          Result<Store> opened = Store::open(world.pool, churning(), system.get());
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
  SimOrigin origin(small_slabs(6, 12_MiB), fill);
  const auto system = origin.start(5);
  ChurnedWorld world{*system, origin.pool()};
  PoolDescription more = origin.pool();
  system->add_disk("dev6", std::make_shared<io::CowImage>(origin.content("dev0")->size()),
                   io::SimDiskOptions{});
  std::uint64_t objects = 0;
  std::uint64_t full = 0;
  system->run([&] {
    {
      Result<Store> opened = Store::open(world.pool, churning(), system.get());
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
    ChurnedWorld after{*system, more, world.model, 0, ""};
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
  SimOrigin origin(small_slabs(7, 12_MiB), fill);
  const auto system = origin.start(6);
  ChurnedWorld world{*system, origin.pool()};
  std::uint64_t full = 0;
  std::uint64_t beside = 0;
  for (const bool moving : {false, true}) {
    const auto run = origin.start(6);
    ChurnedWorld here{*run, origin.pool()};
    run->run([&] {
      Result<Store> opened = Store::open(here.pool, churning(), run.get());
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
