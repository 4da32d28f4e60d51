// A device less in a store that is open: AD3 and AD6 of doc/invariants.md#devices-more-and-less. In
// simulated time, with the power cut behind each request of the change.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/base/thinned.h"
#include "tests/core/faults/growing_world.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

using io::Fault;
using io::FaultKind;
using io::SimOp;
using io::SimSystem;
using World = GrowingWorld;

// A seventh device on which nothing is yet, and the store open.
template <typename Use>
void with_seven(World& world, const Use& use) {
  world.open([&](Store& store) {
    world.expect_ok(store.add_device(kNew).status(), "add");
    world.expect_ok(store.drain_device(7), "drain");
    if (world.problem.empty()) use(store);
  });
}

TEST_CASE("devices: one with nothing on it is removed, attached or away, and is foreign then") {
  SimOrigin origin(large_disks(), fill);
  for (const bool away : {false, true}) {
    CAPTURE(away);
    const auto system = start(origin, 8);
    World world{*system, origin.pool()};
    system->run([&] {
      with_seven(world, [&](Store& store) {
        world.expect_refused(store.remove_device(0), ErrorCode::kUnavailable, "still holds");
        world.expect_refused(store.remove_device(9), ErrorCode::kNotFound, "no device 9");
        if (away) {
          system->disk(kNew).vanish();
          for (int i = 0; i < 40 && World::state(store, 7) != "failed"; ++i) world.churn(store, 1);
          world.expect_ok(store.checkpoint(), "checkpoint");
          world.expect(World::state(store, 7) == "failed", "it is " + World::state(store, 7));
          world.expect(store.status().faults_tolerated == 1, "it does not count");
        }
        world.expect_ok(store.remove_device(7), "remove");
        world.expect_whole(store, 6);
        world.expect(World::state(store, 7) == "none", "it is still there");
        world.expect_refused(store.remove_device(7), ErrorCode::kNotFound, "no device 7");
        world.expect_refused(store.bring_back_device(7, kNew), ErrorCode::kNotFound, "no device 7");
        world.expect_refused(store.remove_device(0), ErrorCode::kNoSpace,
                             "the store has 5 data devices, 6 are needed");
        world.churn(store, 5);
        world.expect_right(store);
      });
      system->disk(kNew).appear();
      // It is no more needed, and does no harm.
      world.open([&](Store& store) { world.expect_whole(store, 6); });
      world.pool = with_new(world.pool);
      world.open([&](Store& store) {
        world.expect(World::data_devices(store) == 6, "devices");
        const DeviceStatus last = store.status().devices.back();
        world.expect(last.path == kNew, "not shown");
        if (away) {
          world.expect(last.detail == "device 7 is no device of the store any more: it was removed",
                       last.detail);
        }
        world.churn(store, 3);
        // Its number is not used again.
        const Result<DeviceId> again = store.add_device(kNew);
        world.expect_ok(again.status(), "added again");
        world.expect(again.ok() && *again == 8, "another number");
        world.expect_ok(store.remove_device(8), "removed again");
      });
      world.pool = origin.pool();
      world.read_without_any_two(world.all_disks());
    });
    REQUIRE(world.problem == "");
  }
}

TEST_CASE("devices: the power fails behind each request of removing one") {
  SimOrigin origin(large_disks(), fill);
  bool whole = false;
  int left = 0;
  int gone = 0;
  for (std::uint64_t at = 0; !whole; at += kThinned) {
    CAPTURE(at);
    REQUIRE(at < 3000);
    const auto system = start(origin, 500 + at);
    World world{*system, origin.pool()};
    Cut cut{at, ""};
    world.crash([&](Store& store) {
      world.expect_ok(store.add_device(kNew).status(), "add");
      world.expect_ok(store.drain_device(7), "drain");
      world.churn(store, 2);
      arm(*system, cut);
      const Status done = store.remove_device(7);
      whole = done.ok() && !cut.struck;
      if (!done.ok() && !cut.struck) world.problem += " remove: " + done.error().to_string();
    });
    REQUIRE(world.problem == "");
    system->run([&] {
      const PoolDescription six = world.pool;
      world.pool = with_new(six);
      world.open([&](Store& store) {
        const std::string state = World::state(store, 7);
        if (state == "none") {
          ++gone;
        } else {
          left += state == "away" ? 1 : 0;
          world.expect(state == "draining" || state == "away", "it is " + state);
          // Between the two roots: it is not taken in by itself, and the next attempt ends it.
          world.expect_ok(store.remove_device(7), "again");
        }
        world.expect_whole(store, 6);
        world.churn(store, 3);
        world.expect_right(store);
      });
      world.pool = six;
      world.read_without_any_two(world.all_disks(), 5);
    });
    REQUIRE(world.problem == "");
  }
  CHECK(left > 0);
  CHECK(gone > 0);
}

TEST_CASE("devices: another one fails behind each request of removing one") {
  SimOrigin origin(large_disks(), fill);
  for (const std::string disk : {kNew, "dev1"}) {
    bool whole = false;
    for (std::uint64_t at = 0; !whole; at += kThinned) {
      CAPTURE(disk, at);
      REQUIRE(at < 2000);
      const auto system = start(origin, 700 + at);
      World world{*system, origin.pool()};
      Cut cut{at, disk};
      system->run([&] {
        with_seven(world, [&](Store& store) {
          world.churn(store, 2);
          arm(*system, cut);
          world.expect_ok(store.remove_device(7), "remove");
          whole = !cut.struck;
          system->set_hook(nullptr);
          world.churn(store, 3);
          world.expect(World::state(store, 7) == "none", "it is still there");
          if (disk == kNew) world.expect_whole(store, 6);
          if (World::state(store, 1) != "ok") {
            world.expect_ok(store.bring_back_device(1), "back");
            world.expect_ok(store.catch_up().status(), "catch up");
          }
          world.expect_right(store);
        });
        world.read_without_any_two(world.all_disks(), 5);
      });
      REQUIRE(world.problem == "");
    }
  }
}

TEST_CASE("devices: one is not removed while as many others are lost as may be") {
  SimOrigin origin(large_disks(), fill);
  const auto system = start(origin, 9);
  World world{*system, origin.pool()};
  system->run([&] {
    with_seven(world, [&](Store& store) {
      for (const std::string disk : {"dev1", "dev2"}) {
        system->disk(disk).inject({.kind = FaultKind::kWriteErrorBefore, .times = Fault::kForever});
      }
      world.churn(store, 3);
      world.expect_refused(store.remove_device(7), ErrorCode::kUnavailable,
                           "beside it 2 data devices are lost or lack something");
      world.expect(World::state(store, 7) == "draining", "it is " + World::state(store, 7));
      world.churn(store, 3);
      system->disk("dev1").clear_faults();
      world.expect_ok(store.bring_back_device(1), "back");
      world.expect_ok(store.catch_up().status(), "catch up");
      world.expect_ok(store.remove_device(7), "remove");
      world.expect(store.status().faults_tolerated == 1, "tolerance");
      world.problem += world.check(store);
    });
  });
  REQUIRE(world.problem == "");
}

}  // namespace
}  // namespace hexad::testing
