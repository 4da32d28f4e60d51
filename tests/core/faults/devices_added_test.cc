// A device more in a store that is open: AD1, AD2, AD4 and AD5 of
// doc/invariants.md#devices-more-and-less. In simulated time, with the power cut behind each
// request of the change.
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

TEST_CASE("devices: a seventh is added, zones are made on it, and any two may be lost then") {
  SimOrigin origin(large_disks(), fill);
  for (const std::uint64_t size : {16_MiB, 5_MiB, 40_MiB}) {
    CAPTURE(size);
    const auto system = start(origin, 1, size);
    World world{*system, origin.pool()};
    system->run([&] {
      world.open([&](Store& store) {
        const Result<DeviceId> added = store.add_device(kNew);
        world.expect_ok(added.status(), "add");
        world.expect(added.ok() && *added == 7, "another number");  // 6 is the fast one's
        world.expect_whole(store, 7);
        const auto fresh = World::device(store, 7);
        world.expect(fresh.has_value() && fresh->state == "ok" && fresh->path == kNew, "state");
        world.expect(fresh.has_value() && fresh->slabs > 0, "slabs");
        world.expect_refused(store.add_device(kNew).status(), ErrorCode::kAlreadyExists,
                             "is device 7 of the store");
        for (int i = 0; i < 300 && World::device(store, 7)->slabs_used == 0; ++i) {
          world.churn(store, 1);
        }
        // Where there is most room first.
        const bool used = World::device(store, 7)->slabs_used > 0;
        world.expect(used || size < 16_MiB, "no zone uses it");
        world.expect_right(store);
      });
      world.pool = with_new(world.pool);
      world.open([&](Store& store) {
        world.expect_whole(store, 7);
        world.expect_right(store);
      });
      world.read_without_any_two(world.all_disks());
    });
    REQUIRE(world.problem == "");
  }
}

TEST_CASE("devices: one that was added is away when the store is opened, and comes back") {
  SimOrigin origin(large_disks(), fill);
  for (const bool opened_again : {false, true}) {
    CAPTURE(opened_again);
    const auto system = start(origin, 2, 7_MiB);
    World world{*system, origin.pool()};
    system->run([&] {
      world.open([&](Store& store) {
        world.expect_ok(store.add_device(kNew).status(), "add");
        while (world.problem.empty() && World::device(store, 7)->slabs_used < 3) {
          world.churn(store, 1);
        }
      });
      world.pool = with_new(world.pool);
      system->disk(kNew).vanish();
      world.open([&](Store& store) {
        world.expect(store.status().faults_tolerated == 1, "tolerance");
        world.problem += world.check(store);
        world.churn(store, 5);
        if (opened_again) return;
        system->disk(kNew).appear();
        world.expect_ok(store.bring_back_device(7, kNew), "back");
        world.expect_ok(store.catch_up().status(), "catch up");
        world.expect(store.status().faults_tolerated == 2, "tolerance when it is back");
        const auto back = World::device(store, 7);
        world.expect(back->slabs > back->slabs_used, "its slabs are not known");
        world.look_deep(store);
      });
      system->disk(kNew).appear();
      world.open([&](Store& store) {
        world.expect_ok(store.catch_up().status(), "catch up");
        world.look_deep(store);
      });
      world.read_without_any_two(world.all_disks(), 3);
    });
    REQUIRE(world.problem == "");
  }
}

TEST_CASE("devices: the power fails behind each request of adding one") {
  SimOrigin origin(large_disks(), fill);
  bool whole = false;
  std::uint64_t added = 0;
  std::uint64_t foreign = 0;
  for (std::uint64_t at = 0; !whole; at += kThinned) {
    CAPTURE(at);
    REQUIRE(at < 2000);
    const auto system = start(origin, 100 + at);
    World world{*system, origin.pool()};
    Cut cut{at, ""};
    world.crash([&](Store& store) {
      world.churn(store, 2);
      arm(*system, cut);
      const Result<DeviceId> done = store.add_device(kNew);
      whole = done.ok() && !cut.struck;
      if (!done.ok() && !cut.struck) world.problem += " add: " + done.error().to_string();
    });
    REQUIRE(world.problem == "");
    system->run([&] {
      // Without it, and with any one other away.
      system->disk("dev" + std::to_string(at % 6)).vanish();
      world.open([&](Store& store) { world.problem += world.check(store); }, Access::kReadOnly);
      system->disk("dev" + std::to_string(at % 6)).appear();
      world.pool = with_new(world.pool);
      world.open([&](Store& store) {
        const std::string state = World::state(store, 7);
        if (state == "none") {
          // It is nobody's, and is taken at the next try, with what the first one has left.
          ++foreign;
          world.expect_whole(store, 6);
          const Result<DeviceId> again = store.add_device(kNew);
          world.expect_ok(again.status(), "again");
          world.expect(again.ok() && *again == 7, "another number");
        } else {
          ++added;
          world.expect(state == "ok", "it is " + state);
        }
        world.expect_whole(store, 7);
        world.churn(store, 3);
        world.expect_right(store);
      });
      world.read_without_any_two(world.all_disks(), 7);
    });
    REQUIRE(world.problem == "");
  }
  CHECK(added > 0);
  CHECK(foreign > 0);
}

TEST_CASE("devices: the new one, or another, fails behind each request of adding it") {
  SimOrigin origin(large_disks(), fill);
  for (const std::string disk : {kNew, "dev0", "dev5"}) {
    bool whole = false;
    std::set<DeviceId> numbers;
    for (std::uint64_t at = 0; !whole; at += kThinned) {
      CAPTURE(disk, at);
      REQUIRE(at < 2000);
      const auto system = start(origin, 300 + at);
      World world{*system, origin.pool()};
      Cut cut{at, disk};
      system->run([&] {
        world.open([&](Store& store) {
          world.churn(store, 2);
          bool over = false;
          const auto committer = system->executor().start("committer", [&] {
            while (!over && world.problem.empty()) world.churn(store, 1);
          });
          arm(*system, cut);
          Result<DeviceId> done = store.add_device(kNew);
          over = true;
          committer->join();
          whole = !cut.struck;
          system->set_hook(nullptr);
          const bool first = done.ok();
          if (!done.ok()) {
            world.expect(cut.struck, "add: " + done.error().to_string());
            world.expect(World::data_devices(store) == 6, "it is there");
            done = store.add_device(kNew);
            world.expect_ok(done.status(), "again");
          }
          if (done.ok()) numbers.insert(*done);
          world.churn(store, 3);
          // Where it was a commit behind the change that met the fault, the new one is behind.
          if (first && cut.struck && disk == kNew && World::state(store, *done) != "ok") {
            world.expect_ok(store.bring_back_device(*done), "back");
            world.expect_ok(store.catch_up().status(), "catch up");
          }
          world.expect(done.ok() && World::state(store, *done) == "ok", "not in use");
          world.problem += world.check(store);
          if (disk == kNew) world.expect_whole(store, 7);
          for (const DeviceId id : {DeviceId{0}, DeviceId{5}}) {
            if (World::state(store, id) == "ok") continue;
            world.expect_ok(store.bring_back_device(id), "back");
            world.expect_ok(store.catch_up().status(), "catch up");
          }
          world.look_deep(store);
        });
        world.pool = with_new(world.pool);
        world.read_without_any_two(world.all_disks(), 5);
      });
      REQUIRE(world.problem == "");
    }
    // P12: a root that has named it may be somewhere, so its number is gone.
    if (disk == kNew) CHECK(numbers == std::set<DeviceId>{7, 8});
  }
}

TEST_CASE("devices: what cannot be added is refused, and nothing has changed") {
  SimOrigin origin(large_disks(), fill);
  const auto system = start(origin, 5);
  system->add_disk("tiny", alloc::kEndsSize + 1_MiB + 64_KiB);
  World world{*system, origin.pool()};
  system->run([&] {
    world.open([&](Store& store) {
      world.expect_refused(store.add_device("").status(), ErrorCode::kInvalidArgument, "no path");
      world.expect_refused(store.add_device("dev3").status(), ErrorCode::kAlreadyExists,
                           "dev3 is device 3 of the store");
      world.expect_refused(store.add_device("tiny").status(), ErrorCode::kNoSpace, "tiny");
      // With one away it works; with two there is nothing to go on with if it fails.
      for (const std::string disk : {"dev1", "dev2"}) {
        if (disk == std::string("dev2")) {
          world.expect_ok(store.add_device(kNew).status(), "add with one away");
        }
        system->disk(disk).inject({.kind = FaultKind::kWriteErrorBefore, .times = Fault::kForever});
        world.churn(store, 3);
      }
      system->add_disk("dev7", 16_MiB + alloc::kEndsSize);
      world.expect_refused(store.add_device("dev7").status(), ErrorCode::kUnavailable,
                           "2 data devices are lost or behind");
      world.expect(World::data_devices(store) == 7, "seven");
      world.problem += world.check(store);
    });
  });
  REQUIRE(world.problem == "");
}

// m+1 data devices hold the log, and with one away the new one is among them.
TEST_CASE("devices: one that is added to a small pool holds the log at once") {
  FormatOptions format = small_format();
  format.profile.k = 1;
  format.profile.m = 2;
  format.devices = {"a", "b", "c"};
  StoreFixture fixture(format);
  // Whoever is away has not been opened elsewhere.
  RuntimeOptions take;
  take.split_risk = SplitRisk::kTake;
  {
    Store store = fixture.open(Access::kReadWrite, take);
    REQUIRE(put(store, "one", noise(100'000, 1)).ok());
  }
  fixture.take_away(0);
  {
    Store store = fixture.open(Access::kReadWrite, take);
    const Result<DeviceId> added = store.add_device("fresh");
    REQUIRE(message_of(added.status()) == "");
    bool holds_log = false;
    for (const DeviceStatus& one : store.status().devices) {
      holds_log = holds_log || (one.path == "fresh" && one.holds_log);
    }
    CHECK(holds_log);
    CHECK(store.status().faults_tolerated == 1);
    REQUIRE(put(store, "two", noise(100'000, 2)).ok());
  }
  fixture.pool.devices.emplace_back("fresh");
  fixture.take_away(1);
  {
    Store store = fixture.open(Access::kReadWrite, take);
    CHECK(get(store, "one") == noise(100'000, 1));
    CHECK(get(store, "two") == noise(100'000, 2));
    // Two are lost: nothing could be lost beside.
    CHECK(code_of(store.add_device("another")) == ErrorCode::kUnavailable);
    REQUIRE(put(store, "three", noise(100'000, 3)).ok());
  }
  fixture.bring_back(0);
  fixture.bring_back(1);
  Store store = fixture.open(Access::kReadWrite, take);
  REQUIRE(message_of(store.catch_up().status()) == "");
  CHECK(store.status().faults_tolerated == 2);
  CHECK(get(store, "three") == noise(100'000, 3));
}

// From each request of making it ready on. In the end it has answered all.
TEST_CASE("devices: one that falls silent while it is added is given up, and the store goes on") {
  SimOrigin origin(large_disks(), fill);
  bool whole = false;
  std::uint64_t refused = 0;
  int warned = 0;
  for (std::uint64_t at = 0; !whole; at += kThinned) {
    CAPTURE(at);
    REQUIRE(at < 2000);
    const auto system = start(origin, 900 + at);
    system->add_disk("dev7", 16_MiB + alloc::kEndsSize);
    World world{*system, origin.pool()};
    world.patience = 8;
    system->run([&] {
      world.open([&](Store& store) {
        std::uint64_t left = at;
        bool struck = false;
        system->set_hook([&](const SimOp& op) -> std::optional<FaultKind> {
          if (op.disk != kNew) return std::nullopt;
          if (left > 0) {
            --left;
            return std::nullopt;
          }
          struck = true;
          return FaultKind::kHang;
        });
        std::string meanwhile;
        const auto helper = system->executor().start("helper", [&] {
          system->executor().sleep_for(6 * kSecond);
          meanwhile = warning_of(store);
        });
        const Result<DeviceId> added = store.add_device(kNew);
        helper->join();
        whole = !struck;
        const bool named = meanwhile.find("dev6, which is being added, has not answered for") == 0;
        if (struck && !added.ok() && added.error().code == ErrorCode::kUnavailable) {
          // A read ends by itself.
          const bool opened = meanwhile.find("dev6 is being opened or made") == 0;
          world.expect(named || opened || meanwhile.empty(), "warned: " + meanwhile);
          if (named) ++warned;
        }
        if (!struck) world.expect_ok(added.status(), "add");
        if (!added.ok() && added.error().code == ErrorCode::kUnavailable) ++refused;
        world.churn(store, 3);
        world.expect(added.ok() || World::data_devices(store) == 6, "it is there");
        const Result<DeviceId> other = store.add_device("dev7");
        world.expect_ok(other.status(), "another one");
        world.expect(other.ok() && World::state(store, *other) == "ok", "not in use");
        world.churn(store, 3);
        system->set_hook(nullptr);
        system->disk(kNew).release_hung();
        world.problem += world.check(store);
      });
      world.pool.devices.emplace_back("dev7");
      if (world.problem.empty())
        world.open([&](Store& store) { world.problem += world.check(store); });
    });
    REQUIRE(world.problem == "");
  }
  CHECK(refused > 0);
  CHECK(warned > 0);
}

TEST_CASE("devices: a file that is not there is made, as large as the largest device") {
  SimOrigin origin(large_disks(), fill);
  const auto system = origin.start(6);
  World world{*system, origin.pool()};
  system->run([&] {
    world.open([&](Store& store) {
      world.expect_ok(store.add_device("fresh").status(), "add");
      world.expect_whole(store, 7);
      world.expect(World::device(store, 7)->size == World::device(store, 0)->size, "its size");
    });
  });
  REQUIRE(world.problem == "");
}

TEST_CASE("devices: whoever ends the adding of one has the store as it was") {
  SimOrigin origin(large_disks(), fill);
  const auto system = start(origin, 6);
  World world{*system, origin.pool()};
  system->run([&] {
    world.open([&](Store& store) {
      int calls = 0;
      const auto end_it = [&](std::uint64_t done, std::uint64_t total) {
        world.expect(done < total, "done with the first call");
        ++calls;
        return false;
      };
      world.expect_refused(store.add_device("fresh", end_it).status(), ErrorCode::kClosed,
                           "fresh: ended by the caller");
      world.expect_refused(store.add_device(kNew, end_it).status(), ErrorCode::kClosed,
                           "ended by the caller");
      world.expect(calls == 2, "asked again");
      world.expect_whole(store, 6);
      world.churn(store, 10);
      std::uint64_t told = 0;
      const auto go_on = [&](std::uint64_t, std::uint64_t total) { return (told = total) > 0; };
      world.expect_ok(store.add_device(kNew, go_on).status(), "add");
      world.expect(told > 0, "nobody was asked");
      world.expect_whole(store, 7);
      world.look_deep(store);
    });
    world.pool = with_new(world.pool);
    world.open([&](Store& store) { world.problem += world.check(store); });
  });
  REQUIRE(world.problem == "");
}

TEST_CASE("devices: one that is draining is given no slabs, says so after a crash, and counts") {
  SimOrigin origin(large_disks(), fill);
  const auto system = start(origin, 7);
  World world{*system, with_new(origin.pool())};
  std::uint32_t used = 0;
  system->run([&] {
    Result<Store> opened = Store::open(origin.pool(), growing(), system.get());
    if (!opened.ok()) {
      world.problem = opened.error().to_string();
      return;
    }
    Store& store = *opened;
    world.expect_refused(store.drain_device(2), ErrorCode::kNoSpace,
                         "there are 5 data devices that can be used, 6 are needed");
    world.expect_refused(store.drain_device(6), ErrorCode::kInvalidArgument, "no data device");
    world.expect_refused(store.drain_device(9), ErrorCode::kNotFound, "no device 9");
    world.expect_refused(store.undrain_device(9), ErrorCode::kNotFound, "no device 9");
    world.expect_ok(store.add_device(kNew).status(), "add");
    world.expect_ok(store.drain_device(2), "drain");
    world.expect_ok(store.drain_device(2), "again");
    world.expect_refused(store.drain_device(3), ErrorCode::kNoSpace, "there are 5 data devices");
    world.expect(World::state(store, 2) == "draining", "state " + World::state(store, 2));
    world.expect_whole(store, 7);
    used = World::device(store, 2)->slabs_used;
    const std::uint32_t before = World::device(store, 7)->slabs_used;
    for (int i = 0; i < 300 && World::device(store, 7)->slabs_used < before + 2; ++i) {
      world.churn(store, 1);
    }
    world.expect(World::device(store, 7)->slabs_used > before, "no zone on the new one");
    world.expect(World::device(store, 2)->slabs_used == used, "a zone on the draining one");
  });
  system->power_cut();
  REQUIRE(world.problem == "");
  system->run([&] {
    world.open([&](Store& store) {
      world.expect(World::state(store, 2) == "draining", "state after a crash");
      world.expect_whole(store, 7);
      world.problem += world.check(store);
      world.expect_ok(store.undrain_device(2), "undrain");
      world.expect_ok(store.undrain_device(2), "again");
      world.expect(World::state(store, 2) == "ok", "state");
    });
    world.open([&](Store& store) { world.expect(World::state(store, 2) == "ok", "still"); });
    world.read_without_any_two(world.all_disks(), 5);
  });
  REQUIRE(world.problem == "");
}

}  // namespace
}  // namespace hexad::testing
