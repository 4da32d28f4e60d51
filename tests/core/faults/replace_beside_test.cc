// A device that answers is replaced while the store is open and serves (AD7 of
// doc/invariants.md#replacing-while-the-store-serves): it is emptied onto the new one. In simulated
// time.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/base/thinned.h"
#include "tests/core/faults/replaced_world.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

using io::Fault;
using io::FaultKind;
using io::IoOp;
using io::SimOp;
using io::SimSystem;
using World = ReplacedWorld;

TEST_CASE("replace open: one that answers is emptied onto the new one under load, and removed") {
  SimOrigin origin(large_disks(), fill);
  const auto system = start(origin, 11);
  World world{*system, origin.pool()};
  DeviceId by = 0;
  system->run([&] {
    world.open([&](Store& store) {
      world.churn(store, 10);
      bool over = false;
      const auto committer = system->executor().start("committer", [&] {
        while (!over && world.problem.empty()) {
          world.churn(store, 1);
          world.expect(store.status().faults_tolerated == 2, "less redundancy meanwhile");
        }
      });
      std::uint64_t told = 0;
      std::uint64_t wanted = 0;
      Replacement replacement{kGone, kNew, 64_MiB};
      replacement.progress = [&](std::uint64_t done, std::uint64_t total) {
        world.expect(done >= told && done <= total, "progress");
        told = done;
        wanted = total;
        return true;
      };
      const Result<DeviceId> done = store.replace_device(replacement);
      over = true;
      committer->join();
      world.expect_ok(done.status(), "replace");
      if (done.ok()) by = *done;
      world.expect(by == 7, "number " + std::to_string(by));
      world.expect(told == wanted && wanted > 0, "it has not told");
      world.expect(World::state(store, kGone) == "none", "it is still there");
      world.expect(World::state(store, by) == "ok", World::state(store, by));
      world.problem += world.model.check(store);
      world.look_deep(store);
    });
    world.describe(kNew);
    world.end_well();
  });
  REQUIRE(world.problem == "");
}

TEST_CASE("replace open: one that answers stays until the power is back, and the call goes on") {
  SimOrigin origin(large_disks(), fill);
  bool whole = false;
  std::set<std::string> seen;  // states of the one that goes
  for (std::uint64_t at = 0; !whole; at += kThinned * (5 + at / 10)) {
    CAPTURE(at);
    REQUIRE(at < 20'000);
    const auto system = start(origin, 700 + at);
    World world{*system, origin.pool()};
    Cut cut{at, ""};
    system->run([&] {
      Result<Store> store = Store::open(world.pool, replacing(), system.get());
      world.expect_ok(store.status(), "open");
      if (!store.ok()) return;
      world.churn(*store, 4);
      arm(*system, cut);
      const Result<DeviceId> done = store->replace_device({kGone, kNew});
      whole = done.ok() && !cut.struck;
      if (!cut.struck) world.expect_ok(done.status(), "replace");
    });
    system->set_hook(nullptr);
    system->power_cut();
    REQUIRE(world.problem == "");
    system->run([&] {
      world.pool.devices.emplace_back(kNew);
      world.open([&](Store& store) {
        const std::string state = World::state(store, kGone);
        seen.insert(state);
        world.problem += world.model.check(store);
        if (state == "away") world.expect_ok(store.bring_back_device(kGone), "back");
        if (state == "away") world.catch_up(store);
        if (state == "none") return;
        const Result<DeviceId> done = store.replace_device({kGone, kNew});
        world.expect_ok(done.status(), "again");
        world.expect(World::state(store, kGone) == "none", "it is still there");
        world.look_deep(store);
      });
      std::erase(world.pool.devices, kOld);
      world.end_well(5);
    });
    REQUIRE(world.problem == "");
  }
  CHECK(seen.contains("ok"));
  CHECK(seen.contains("draining"));
  CHECK(seen.contains("none"));
}

TEST_CASE("replace open: one that answers: what ends it, and what takes it back") {
  SimOrigin origin(large_disks(), fill);
  const auto system = start(origin, 13);
  system->add_disk("small", 6_MiB);
  World world{*system, origin.pool()};
  system->run([&] {
    world.open([&](Store& store) {
      world.churn(store, 10);
      world.expect_refused(store.replace_device({kGone, "small"}).status(), ErrorCode::kNoSpace,
                           "zones use");
      world.expect(World::state(store, 7) == "none", "added");
      world.expect(World::state(store, kGone) == "ok", "drained");
      Replacement replacement{kGone, kNew};
      replacement.progress = [](std::uint64_t, std::uint64_t) { return false; };
      world.expect_refused(store.replace_device(replacement).status(), ErrorCode::kClosed,
                           "ended by the caller");
      world.expect(World::state(store, 7) == "none", "added all the same");
      world.expect(World::state(store, kGone) == "ok", "drained all the same");
      // Once is enough.
      bool ended = false;
      replacement.progress = [&](std::uint64_t done, std::uint64_t total) {
        world.expect(total > 0 && done <= total, "more than all");
        return done == 0 || std::exchange(ended, true);
      };
      world.expect_refused(store.replace_device(replacement).status(), ErrorCode::kClosed,
                           "is one more of the store");
      world.expect(ended, "nothing was copied");
      world.expect(World::state(store, kGone) == "draining", World::state(store, kGone));
      world.expect(store.status().faults_tolerated == 2, "tolerance");
      world.expect_ok(store.undrain_device(kGone), "undrain");
      world.churn(store, 3);
      // One that is in use, when nobody is drained.
      world.expect_refused(store.replace_device({kGone, "dev3"}).status(),
                           ErrorCode::kAlreadyExists, "is device 3 of the store");
      world.expect_ok(store.drain_device(kGone), "drain");
      const Result<DeviceId> done = store.replace_device({kGone, kNew});
      world.expect_ok(done.status(), "replace");
      world.expect(done.ok() && *done == 7, "number");
      world.problem += world.model.check(store);
      world.look_deep(store);
    });
    world.describe(kNew);
    world.end_well(2);
  });
  REQUIRE(world.problem == "");
}

}  // namespace
}  // namespace hexad::testing
