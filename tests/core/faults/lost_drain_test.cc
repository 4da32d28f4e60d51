// A device that is lost is drained: what it held is built again on the others (SL7 of
// doc/invariants.md#slabs-that-move). In simulated time, with the power cut, and with disks that
// fail, behind each request of it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "alloc/device_layout.h"
#include "tests/base/thinned.h"
#include "tests/core/faults/churned_world.h"

namespace hexad::testing {
namespace {

using io::Fault;
using io::FaultKind;
using io::IoOp;
using io::SimOp;
using io::SimSystem;

const std::string kLost = "dev2";

PoolDescription without(const PoolDescription& pool, const std::string& disk) {
  PoolDescription less = pool;
  std::erase(less.devices, disk);
  return less;
}

// Its disk does not come back, and a commit has met that.
void lose(ChurnedWorld& world, Store& store) {
  world.system.disk(kLost).vanish();
  for (int i = 0; i < 50 && ChurnedWorld::device(store, kDrained).state != "failed"; ++i) {
    world.churn(store, 1);
  }
  if (ChurnedWorld::device(store, kDrained).state != "failed") world.problem += " not lost";
}

// The room on other devices, and what is to be there. Without the wait for what has been left.
void build_again(ChurnedWorld& world, Store& store) {
  const Result<MoveReport> moved = store.move_slabs(until_empty());
  if (!moved.ok()) world.problem += " move: " + moved.error().to_string();
  if (moved.ok() && moved->slabs_left > 0) {
    world.problem += " " + std::to_string(moved->slabs_left) + " left: " + moved->problem;
  }
  const Result<CatchUpReport> filled = store.catch_up();
  if (!filled.ok()) world.problem += " catch-up: " + filled.error().to_string();
  if (filled.ok() && filled->bytes_missing > 0) {
    world.problem += " " + std::to_string(filled->bytes_missing) + " bytes are missing still";
  }
}

RuntimeOptions by_hand() {
  RuntimeOptions options = churning();
  options.catch_up = CatchUp::kWhenAsked;
  return options;
}

SimPoolOptions one_parity(std::size_t disks) {
  SimPoolOptions options = small_slabs(disks);
  options.profile.k = 2;
  options.profile.m = 1;
  return options;
}

std::ptrdiff_t count_filling(const StoreStatus& status) {
  return std::count_if(status.devices.begin(), status.devices.end(),
                       [](const DeviceStatus& device) { return device.state == "filling"; });
}

TEST_CASE("lost_drain: what a lost device held is built again on the others") {
  SimOrigin origin(small_slabs(8), fill);
  const auto system = origin.start(7);
  ChurnedWorld world{*system, origin.pool()};
  StoreStatus moved;
  StoreStatus filled;
  StoreStatus removed;
  system->run([&] {
    {
      Result<Store> opened = Store::open(world.pool, by_hand(), system.get());
      if (!opened.ok()) {
        world.problem = opened.error().to_string();
        return;
      }
      Store& store = *opened;
      // So much that each of the others gets some of it.
      for (int i = 0; i < 60; ++i) {
        if (!world.put(store, "more" + std::to_string(i))) world.problem += " not put";
      }
      lose(world, store);
      world.expect(store.drain_device(kDrained), "drain");
      bool over = false;
      const auto committer = system->executor().start("committer", [&] {
        while (!over && world.problem.empty()) {
          world.churn(store, 1);
          system->executor().sleep_for(kPause);
        }
      });
      world.move(store);
      moved = store.status();
      build_again(world, store);
      over = true;
      committer->join();
      filled = store.status();
      world.problem += world.model.check(store);
      world.look_deep(store);
      world.expect(store.remove_device(kDrained), "remove");
      removed = store.status();
      world.churn(store, 30);
      world.expect(store.close(), "close");
    }
    const PoolDescription less = without(world.pool, kLost);
    ChurnedWorld after{*system, less, world.model, 0, ""};
    after.read_without_any_two();
    world.problem += after.problem;
  });
  REQUIRE(world.problem == "");
  // Several lack something, and no stripe more than one cell.
  CHECK(count_filling(moved) > 1);
  CHECK(moved.faults_tolerated == 1);
  CHECK(moved.health == Health::kDegraded);
  CHECK(count_filling(filled) == 0);
  CHECK(filled.faults_tolerated == 1);
  CHECK(removed.faults_tolerated == 2);
  CHECK(removed.health == Health::kOk);
}

// Each of those that are filled lacks something, and no zone more than it had lost.
TEST_CASE("lost_drain: with one parity, too, the store goes on while others are filled") {
  SimOrigin origin(one_parity(5), fill);
  const auto system = origin.start(8);
  ChurnedWorld world{*system, origin.pool()};
  std::ptrdiff_t filling = 0;
  system->run([&] {
    {
      Result<Store> opened = Store::open(world.pool, by_hand(), system.get());
      if (!opened.ok()) {
        world.problem = opened.error().to_string();
        return;
      }
      Store& store = *opened;
      for (int i = 0; i < 60; ++i) {
        if (!world.put(store, "more" + std::to_string(i))) world.problem += " not put";
      }
      lose(world, store);
      world.expect(store.drain_device(kDrained), "drain");
      world.move(store);
      filling = count_filling(store.status());
      world.churn(store, 20);
      if (store.status().read_only) world.problem += " read-only";
      world.expect(store.close(), "close");
    }
    {
      // What counts is what zones have lost: one slab each.
      Result<Store> again = Store::open(world.pool, by_hand(), system.get());
      if (!again.ok()) {
        world.problem += " again: " + again.error().to_string();
        return;
      }
      Store& store = *again;
      world.churn(store, 5);
      build_again(world, store);
      world.expect(store.remove_device(kDrained), "remove");
      if (store.status().health != Health::kOk) world.problem += " not well";
      world.problem += world.model.check(store);
      world.expect(store.close(), "close");
    }
    const PoolDescription less = without(world.pool, kLost);
    ChurnedWorld after{*system, less, world.model, 0, ""};
    after.read_without_any();
    world.problem += after.problem;
  });
  REQUIRE(world.problem == "");
  CHECK(filling > 1);
}

// SL8: a device on which nothing lies takes nothing of any zone with it.
TEST_CASE("lost_drain: what is removed beside it does not keep the store from being opened") {
  SimOrigin origin(one_parity(6), fill);
  for (const bool closed : {false, true}) {
    CAPTURE(closed);
    const auto system = origin.start(closed ? 11 : 10);
    ChurnedWorld world{*system, origin.pool()};
    system->run([&] {
      Result<Store> opened = Store::open(world.pool, by_hand(), system.get());
      if (!opened.ok()) {
        world.problem = opened.error().to_string();
        return;
      }
      Store& store = *opened;
      for (int i = 0; i < 40; ++i) {
        if (!world.put(store, "more" + std::to_string(i))) world.problem += " not put";
      }
      lose(world, store);
      world.expect(store.drain_device(kDrained), "drain");
      world.expect(store.drain_device(3), "drain the other");
      for (int i = 0; i < 20 && ChurnedWorld::device(store, 3).slabs_used > 0; ++i) {
        store.move_slabs().status().ignore();
        if (ChurnedWorld::device(store, kDrained).slabs_used == 0)
          store.catch_up().status().ignore();
      }
      world.move(store);
      world.expect(store.remove_device(kDrained), "remove");
      world.expect(store.remove_device(3), "remove the other");
      if (closed) world.expect(store.close(), "close");
    });
    if (!closed) system->power_cut();
    REQUIRE(world.problem == "");
    PoolDescription less = without(without(world.pool, kLost), "dev3");
    system->run([&] {
      Result<Store> opened = Store::open(less, by_hand(), system.get());
      if (!opened.ok()) {
        world.problem = "again: " + opened.error().to_string();
        return;
      }
      world.problem += world.model.check(*opened);
      build_again(world, *opened);
    });
    REQUIRE(world.problem == "");
  }
}

// SL8: it stops where a crash would leave too little, and what it stopped with can be opened.
TEST_CASE("lost_drain: a second loss before what was filled is in a checkpoint loses nothing") {
  SimOrigin origin(one_parity(6), fill);
  for (const std::string second : {"dev0", "dev1"}) {
    CAPTURE(second);
    const auto system = origin.start(12);
    ChurnedWorld world{*system, origin.pool()};
    const PoolDescription less = without(world.pool, kLost);
    system->run([&] {
      Result<Store> opened = Store::open(world.pool, by_hand(), system.get());
      if (!opened.ok()) {
        world.problem = opened.error().to_string();
        return;
      }
      Store& store = *opened;
      for (int i = 0; i < 40; ++i) {
        if (!world.put(store, "more" + std::to_string(i))) world.problem += " not put";
      }
      lose(world, store);
      world.expect(store.drain_device(kDrained), "drain");
      world.move(store);
      world.expect(store.remove_device(kDrained), "remove");
      // Of all that catch_up() writes to it the root alone, by which what was filled counts.
      system->set_hook([&](const SimOp& op) -> std::optional<FaultKind> {
        const bool root = op.disk == second && op.op == IoOp::kWrite && op.offset < alloc::kHeadEnd;
        return root ? std::optional(FaultKind::kDeviceError) : std::nullopt;
      });
      store.catch_up().status().ignore();
      // A crash would find zones that have lost two slabs.
      if (!store.status().read_only) world.problem += " went on";
      for (int i = 0; i < 5; ++i) world.put(store);
      system->set_hook(nullptr);
    });
    system->power_cut();
    REQUIRE(world.problem == "");
    system->run([&] {
      Result<Store> opened = Store::open(less, by_hand(), system.get());
      if (!opened.ok()) {
        world.problem = "again: " + opened.error().to_string();
        return;
      }
      world.problem += world.model.check(*opened);
      build_again(world, *opened);
      world.expect(opened->close(), "close");
    });
    REQUIRE(world.problem == "");
    ChurnedWorld after{*system, less, world.model, 0, ""};
    system->run([&] { after.read_without_any(); });
    world.problem = after.problem;
    REQUIRE(world.problem == "");
  }
}

TEST_CASE("lost_drain: the power fails behind each request of it") {
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
      Result<Store> opened = Store::open(world.pool, by_hand(), system.get());
      if (!opened.ok()) {
        world.problem = opened.error().to_string();
        return;
      }
      Store& store = *opened;
      world.churn(store, 12);
      lose(world, store);
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
      const Result<CatchUpReport> filled = store.catch_up();
      over = true;
      committer->join();
      whole = moved.ok() && moved->slabs_left == 0 && filled.ok() && filled->bytes_missing == 0 &&
              !struck;
      system->set_hook(nullptr);
    });
    system->power_cut();
    REQUIRE(world.problem == "");
    const PoolDescription less = without(world.pool, kLost);
    system->run([&] {
      {
        ChurnedWorld before{*system, less, world.model, at, ""};
        before.read_without_any();
        world.problem += before.problem;
        if (!world.problem.empty()) return;
      }
      {
        Result<Store> opened = Store::open(world.pool, by_hand(), system.get());
        if (!opened.ok()) {
          world.problem = "again: " + opened.error().to_string();
          return;
        }
        Store& store = *opened;
        world.problem += world.model.check(store);
        if (!world.problem.empty()) return;
        if (!ChurnedWorld::device(store, kDrained).draining) world.problem += " forgotten";
        build_again(world, store);
        world.churn(store, 12);
        world.look_deep(store);
        world.expect(store.remove_device(kDrained), "remove");
        world.expect(store.close(), "close");
      }
      ChurnedWorld after{*system, less, world.model, at, world.problem};
      if (after.problem.empty()) after.read_without_any_two(5);
      world.problem = after.problem;
    });
    REQUIRE(world.problem == "");
  }
}

// One that takes its slabs, and the one with the log's first copy.
TEST_CASE("lost_drain: a second disk fails at each request that it gets") {
  SimOrigin origin(small_slabs(8), fill);
  for (const std::string disk : {"dev7", "dev0"}) {
    bool whole = false;
    for (std::uint64_t at = 0; !whole; at += kThinned * (1 + at / 8)) {
      CAPTURE(disk, at);
      REQUIRE(at < 20'000);
      const auto system = origin.start(300 + at);
      ChurnedWorld world{*system, origin.pool()};
      bool struck = false;
      system->run([&] {
        {
          Result<Store> opened = Store::open(world.pool, by_hand(), system.get());
          if (!opened.ok()) {
            world.problem = opened.error().to_string();
            return;
          }
          Store& store = *opened;
          world.churn(store, 12);
          lose(world, store);
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
          const Result<CatchUpReport> filled = store.catch_up();
          over = true;
          committer->join();
          whole = moved.ok() && moved->slabs_left == 0 && filled.ok() &&
                  filled->bytes_missing == 0 && !struck;
          world.problem += world.model.check(store);
          system->set_hook(nullptr);
          system->disk(disk).release_hung();
        }
        if (world.problem.empty()) world.read_without({kLost, disk});
      });
      REQUIRE(world.problem == "");
    }
  }
}

// It had only been pulled: what has not found another place is used again.
TEST_CASE("lost_drain: the device comes back in the middle of it") {
  SimOrigin origin(small_slabs(8), fill);
  for (int rounds = 0; rounds < 4; ++rounds) {
    CAPTURE(rounds);
    const auto system = origin.start(20 + rounds);
    ChurnedWorld world{*system, origin.pool()};
    std::uint32_t slabs = 0;
    system->run([&] {
      Result<Store> opened = Store::open(world.pool, by_hand(), system.get());
      if (!opened.ok()) {
        world.problem = opened.error().to_string();
        return;
      }
      Store& store = *opened;
      world.churn(store, 30);
      lose(world, store);
      world.expect(store.drain_device(kDrained), "drain");
      MoveOptions some;
      some.progress = [&](const MoveReport& report) {
        return report.slabs_moved < static_cast<std::uint64_t>(rounds);
      };
      const Result<MoveReport> moved = store.move_slabs(some);
      if (!moved.ok()) world.problem += " move: " + moved.error().to_string();
      world.churn(store, 10);
      system->disk(kLost).appear();
      world.expect(store.bring_back_device(kDrained), "back");
      world.churn(store, 10);
      // A slab that lacks cells stays where it is until it has them.
      world.expect(store.catch_up().status(), "catch-up");
      build_again(world, store);
      world.move(store);
      slabs = ChurnedWorld::device(store, kDrained).slabs_used;
      world.problem += world.model.check(store);
      world.look_deep(store);
      world.expect(store.close(), "close");
    });
    REQUIRE(world.problem == "");
    CHECK(slabs == 0);
    system->run([&] { world.read_without_any_two(3); });
    REQUIRE(world.problem == "");
  }
}

TEST_CASE("lost_drain: where there is no room for it the refusal says so") {
  SimOrigin origin(small_slabs(6), fill);
  const auto system = origin.start(9);
  ChurnedWorld world{*system, origin.pool()};
  Status refused;
  system->run([&] {
    Result<Store> opened = Store::open(world.pool, by_hand(), system.get());
    if (!opened.ok()) {
      world.problem = opened.error().to_string();
      return;
    }
    lose(world, *opened);
    refused = opened->drain_device(kDrained);
  });
  REQUIRE(world.problem == "");
  REQUIRE(refused.error().code == ErrorCode::kNoSpace);
  CHECK(refused.error().message.find("there are 5 data devices that can be used, 6 are needed") !=
        std::string::npos);
}

}  // namespace
}  // namespace hexad::testing
