// A fast device more in a store that is open, and one less: AD8 and AD9 of
// doc/invariants.md#devices-more-and-less. In simulated time, with the power cut behind each
// request of the change.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
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

// A store that has a fast device, number 6, may get another one, number 7.
struct World : GrowingWorld {
  World(io::SimSystem& simulation, const PoolDescription& described)
      : GrowingWorld{{simulation, described}}, first(described.fast_directories.front()) {}
  // Indexes are files, and there is one of its own for each run.
  std::string directory(const std::string& name) const { return first + "-" + name; }
  // Whichever of them are there.
  void name(const std::vector<std::string>& directories) { pool.fast_directories = directories; }
  static std::size_t fast_devices(Store& store) {
    const std::vector<DeviceStatus> all = store.status().devices;
    return static_cast<std::size_t>(std::count_if(
        all.begin(), all.end(), [](const DeviceStatus& one) { return one.role == "log"; }));
  }
  static bool holds_log(Store& store, DeviceId id) {
    const auto one = device(store, id);
    return one.has_value() && one->holds_log;
  }
  void expect_sound(Store& store) {
    expect_right(store);
    expect(store.status().faults_tolerated == 2, "tolerance");
  }

  std::string first;
};

// What a pool of them is opened with, so that data devices that are away are no obstacle.
RuntimeOptions taking_risks() {
  RuntimeOptions options;
  options.split_risk = SplitRisk::kTake;
  return options;
}

TEST_CASE("fast devices: a second one has the log at once, and the first may go") {
  SimOrigin origin(large_disks(), fill);
  const std::string old = origin.disks().back();
  const auto system = origin.start(1);
  World world(*system, origin.pool());
  const std::string other = world.directory("second");
  system->run([&] {
    world.open([&](Store& store) {
      world.churn(store, 3);
      const Result<DeviceId> added = store.add_fast_device(other);
      world.expect_ok(added.status(), "add");
      world.expect(added.ok() && *added == 7, "number");
      world.expect(World::path(store, 7) == other + "/log", World::path(store, 7));
      world.expect(World::state(store, 7) == "ok", World::state(store, 7));
      world.expect(World::holds_log(store, 6) && World::holds_log(store, 7), "no log");
      world.expect_whole(store, 6);
      for (const std::string& same : {other, other + "//"}) {
        world.expect_refused(store.add_fast_device(same).status(), ErrorCode::kAlreadyExists,
                             "is device 7 of the store");
      }
      world.churn(store, 5);
      world.expect_sound(store);
    });
    // With the log on the second one alone.
    system->disk(old).vanish();
    world.name({other});
    world.open([&](Store& store) {
      world.churn(store, 3);
      world.expect(World::holds_log(store, 7), "no log");
      world.expect_sound(store);
      world.expect_ok(store.remove_device(6), "remove one that is away");
      world.expect(store.status().health == Health::kOk, "not whole");
      world.expect(World::state(store, 6) == "none", "it is still there");
    });
    system->disk(old).appear();
    // Whoever names it all the same finds a device that is none of the store.
    world.name({other, world.first});
    world.open([&](Store& store) {
      const DeviceStatus last = store.status().devices.back();
      world.expect(last.role.empty() && last.path == old, "it is not shown as unrecognised");
      world.expect(World::fast_devices(store) == 1, "fast devices");
      world.expect_sound(store);
    });
    world.name({other});
    world.read_without_any_two(world.all_disks(), 3);
  });
  REQUIRE(world.problem == "");
}

TEST_CASE("fast devices: the only one is removed, and what the labels say of it is forgotten") {
  SimOrigin origin(large_disks(), fill);
  const auto system = origin.start(2);
  World world(*system, origin.pool());
  system->run([&] {
    world.open([&](Store& store) {
      world.churn(store, 3);
      world.expect_ok(store.remove_device(6), "remove");
      world.expect(World::fast_devices(store) == 0, "fast devices");
      world.expect_whole(store, 6);
      world.expect_refused(store.remove_device(6), ErrorCode::kNotFound, "no device 6");
      // The index serves until the end.
      world.churn(store, 5);
      world.expect_ok(store.checkpoint(), "checkpoint");
      world.expect_sound(store);
    });
    world.name({});
    for (const Access access : {Access::kReadOnly, Access::kReadWrite}) {
      world.open(
          [&](Store& store) {
            const std::vector<std::string> notes = store.status().notes;
            world.expect(std::any_of(notes.begin(), notes.end(),
                                     [](const std::string& note) {
                                       return note.find("no fast directory") != std::string::npos;
                                     }),
                         "the directory is looked at");
            world.expect_whole(store, 6);
            world.expect_sound(store);
            if (access == Access::kReadWrite) world.churn(store, 4);
          },
          access);
    }
    // And it gets one again, in the same place: what lies there is nobody's.
    world.open([&](Store& store) {
      const Result<DeviceId> added = store.add_fast_device(world.first);
      world.expect_ok(added.status(), "add");
      world.expect(added.ok() && *added == 7, "number");
      world.expect(World::holds_log(store, 7), "no log");
      world.churn(store, 3);
    });
    world.name({world.first});
    world.open([&](Store& store) {
      world.expect(World::state(store, 7) == "ok", World::state(store, 7));
      world.expect_sound(store);
    });
  });
  REQUIRE(world.problem == "");
}

// Beside another one, or as the only one. What was answered when the log was on fast devices alone
// is there as well, for the new one is named (log_durability = fast).
TEST_CASE("fast devices: the power fails behind each request of adding one") {
  SimOrigin origin(large_disks(), fill);
  for (const bool only : {false, true}) {
    bool whole = false;
    int added = 0;
    int foreign = 0;
    for (std::uint64_t at = 0; !whole; at += kThinned) {
      CAPTURE(only, at);
      REQUIRE(at < 3000);
      const auto system = origin.start(100 + at);
      World world(*system, origin.pool());
      world.durability = at % 3 == 0 ? LogDurability::kFull : LogDurability::kFast;
      const std::string other =
          world.directory("cut-" + std::to_string(at) + (only ? "-only" : ""));
      if (only) {
        system->run([&] {
          world.open([&](Store& store) { world.expect_ok(store.remove_device(6), "remove"); });
        });
        world.name({});
      }
      const std::vector<std::string> before = world.pool.fast_directories;
      const DeviceId id = 7;
      Cut cut{at, ""};
      world.crash([&](Store& store) {
        world.churn(store, 2);
        arm(*system, cut);
        const Result<DeviceId> done = store.add_fast_device(other);
        whole = done.ok() && !cut.struck;
        if (!done.ok() && !cut.struck) world.problem += " add: " + done.error().to_string();
        if (!whole) return;
        system->set_hook(nullptr);
        world.churn(store, 2);
      });
      REQUIRE(world.problem == "");
      world.name(before);
      world.pool.fast_directories.push_back(other);
      system->run([&] {
        world.read_without_any_two(world.all_disks(), 7);
        world.open([&](Store& store) {
          const std::string state = World::state(store, id);
          if (state == "none") {
            ++foreign;
            world.expect_ok(store.add_fast_device(other).status(), "again");
          } else {
            ++added;
            world.expect(state == "ok", "it is " + state);
          }
          world.expect(World::holds_log(store, id), "no log");
          world.expect_whole(store, 6);
          world.churn(store, 3);
          world.expect_sound(store);
        });
        if (only) return;
        // And without it, as if nobody had named it.
        world.name(before);
        world.durability = LogDurability::kFull;
        world.open([&](Store& store) { world.expect_sound(store); });
      });
      REQUIRE(world.problem == "");
    }
    CHECK(added > 0);
    CHECK(foreign > 0);
  }
}

TEST_CASE("fast devices: the power fails behind each request of removing one") {
  SimOrigin origin(large_disks(), fill);
  bool whole = false;
  int left = 0;
  int gone = 0;
  for (std::uint64_t at = 0; !whole; at += kThinned) {
    CAPTURE(at);
    REQUIRE(at < 3000);
    const auto system = origin.start(300 + at);
    World world(*system, origin.pool());
    world.durability = at % 3 == 0 ? LogDurability::kFull : LogDurability::kFast;
    Cut cut{at, ""};
    world.crash([&](Store& store) {
      world.churn(store, 4);
      arm(*system, cut);
      const Status done = store.remove_device(6);
      whole = done.ok() && !cut.struck;
      if (!done.ok() && !cut.struck) world.problem += " remove: " + done.error().to_string();
    });
    REQUIRE(world.problem == "");
    system->run([&] {
      // Without it nothing that was answered by its log alone is there.
      if (at % 6 == 0) world.name({});
      world.read_without_any_two(world.all_disks(), 7);
      world.open([&](Store& store) {
        if (World::state(store, 6) == "none") {
          ++gone;
        } else {
          ++left;
          world.expect_ok(store.remove_device(6), "again");
        }
        world.expect_whole(store, 6);
        world.expect(World::fast_devices(store) == 0, "fast devices");
        world.churn(store, 3);
        world.expect_sound(store);
      });
      world.name({});
      world.read_without_any_two(world.all_disks(), 5);
    });
    REQUIRE(world.problem == "");
  }
  CHECK(left > 0);
  CHECK(gone > 0);
}

// Of the fast devices, or a data device that holds the log.
TEST_CASE("fast devices: one fails behind each request of adding or removing one") {
  SimOrigin origin(large_disks(), fill);
  const std::string old = origin.disks().back();
  for (const bool removing : {false, true}) {
    for (const std::string which : {"new", "old", "data"}) {
      bool whole = false;
      for (std::uint64_t at = 0; !whole; at += kThinned) {
        CAPTURE(removing, which, at);
        REQUIRE(at < 3000);
        const auto system = origin.start(500 + at);
        World world(*system, origin.pool());
        const std::string other =
            world.directory(which + (removing ? "-gone-" : "-") + std::to_string(at));
        system->run([&] {
          Cut cut{at, which == "new" ? other + "/log" : which == "old" ? old : "dev0"};
          world.open([&](Store& store) {
            world.churn(store, 2);
            if (removing) world.expect_ok(store.add_fast_device(other).status(), "add");
            bool over = false;
            const auto committer = system->executor().start("committer", [&] {
              while (!over && world.problem.empty()) world.churn(store, 1);
            });
            arm(*system, cut);
            const Status done =
                removing ? store.remove_device(6) : store.add_fast_device(other).status();
            over = true;
            committer->join();
            whole = !cut.struck;
            system->set_hook(nullptr);
            if (!done.ok()) world.expect(cut.struck, done.error().to_string());
            if (!removing && !done.ok()) {
              world.expect(World::fast_devices(store) == 1, "it is there");
              world.expect_ok(store.add_fast_device(other).status(), "again");
            }
            if (removing && !done.ok()) world.expect_ok(store.remove_device(6), "again");
            if (removing) world.expect(World::state(store, 6) == "none", "not removed");
            world.churn(store, 3);
            if (World::state(store, 0) != "ok") {
              world.expect_ok(store.bring_back_device(0), "back");
              world.expect_ok(store.catch_up().status(), "catch up");
            }
            world.expect_sound(store);
          });
          world.name(removing ? std::vector{other} : std::vector{world.first, other});
          world.open([&](Store& store) {
            world.expect_whole(store, 6);
            world.expect(World::fast_devices(store) == (removing ? 1 : 2), "fast devices");
            world.expect_sound(store);
          });
        });
        REQUIRE(world.problem == "");
      }
    }
  }
}

TEST_CASE("fast devices: what cannot be one is refused, and nothing has changed") {
  SimOrigin origin(large_disks(), fill);
  const auto system = origin.start(3);
  World world(*system, origin.pool());
  const std::string foreign = world.directory("foreign");
  const std::string plain = world.directory("plain");
  system->run([&] {
    FormatOptions format = small_format();
    for (int i = 0; i < 6; ++i) {
      format.devices.push_back("other" + std::to_string(i));
      system->add_disk(format.devices.back(), 8_MiB + alloc::kEndsSize);
    }
    format.fast_directories = {foreign};
    world.expect_ok(Store::format(format, system.get()).status(), "format");
    world.open([&](Store& store) {
      world.expect_refused(store.add_fast_device("").status(), ErrorCode::kInvalidArgument,
                           "no directory");
      world.expect_refused(store.add_fast_device(world.first).status(), ErrorCode::kAlreadyExists,
                           "is device 6 of the store");
      world.expect_refused(store.add_fast_device(foreign).status(), ErrorCode::kAlreadyExists,
                           "no index that this store could use");
      world.expect_refused(store.replace_device({6, foreign}).status(), ErrorCode::kAlreadyExists,
                           "no index that this store could use");
      std::filesystem::remove_all(foreign + "/index");
      world.expect_refused(store.add_fast_device(foreign).status(), ErrorCode::kAlreadyExists,
                           "holds a hexad store");
      world.expect(World::fast_devices(store) == 1, "fast devices");
      world.expect(!std::filesystem::exists(plain), "there already");
      // As many data devices are lost as may be: those are as many as before, whatever it does.
      for (const std::string disk : {"dev1", "dev2"}) {
        system->disk(disk).inject({.kind = FaultKind::kWriteErrorBefore, .times = Fault::kForever});
        world.churn(store, 3);
      }
      world.expect(store.status().faults_tolerated == 0, "two are lost");
      world.expect_ok(store.add_fast_device(plain).status(), "with two lost");
      world.expect(World::holds_log(store, 7), "no log");
      world.expect_ok(store.remove_device(6), "remove with two lost");
      world.churn(store, 3);
      world.problem += world.check(store);
    });
  });
  REQUIRE(world.problem == "");
}

// There may be more of them than copies.
TEST_CASE("fast devices: at most m + 1 hold the log, and a spare one takes over") {
  StoreFixture fixture;
  const std::string first = fixture.pool.fast_directories.front();
  std::vector<std::string> all = {first};
  {
    Store store = fixture.open();
    REQUIRE(message_of(put(store, "one", noise(50'000, 1)).status()) == "");
    for (int i = 0; i < 3; ++i) {
      all.push_back(first + "-" + std::to_string(i));
      REQUIRE(message_of(store.add_fast_device(all.back()).status()) == "");
    }
    const auto copies = [&] {
      std::set<DeviceId> ids;
      for (const DeviceStatus& one : store.status().devices) {
        if (one.role == "log" && one.holds_log) ids.insert(one.id);
      }
      return ids;
    };
    CHECK(copies() == std::set<DeviceId>{6, 7, 8});
    REQUIRE(message_of(store.remove_device(7)) == "");
    CHECK(copies() == std::set<DeviceId>{6, 8, 9});
    REQUIRE(message_of(put(store, "two", noise(50'000, 2)).status()) == "");
    REQUIRE(message_of(store.remove_device(6)) == "");
    CHECK(copies() == std::set<DeviceId>{8, 9});
  }
  fixture.pool.fast_directories = {all[2], all[3]};
  Store store = fixture.open();
  CHECK(get(store, "one") == noise(50'000, 1));
  CHECK(get(store, "two") == noise(50'000, 2));
  CHECK(deep_findings(store) == "");
}

// Without parity the roots follow another rule (P13), and the log may have had one copy.
TEST_CASE("fast devices: a pool without parity, and without any, gets one and loses it") {
  FormatOptions format = small_format();
  format.profile.k = 2;
  format.profile.m = 0;
  format.redundant_devices = true;
  format.devices = {"a", "b"};
  StoreFixture fixture(format);
  const std::string first = fixture.pool.fast_directories.front();
  {
    Store store = fixture.open();
    REQUIRE(message_of(store.remove_device(2)) == "");
    REQUIRE(message_of(put(store, "one", noise(50'000, 1)).status()) == "");
  }
  fixture.pool.fast_directories.clear();
  DeviceId added = 0;
  {
    Store store = fixture.open();
    CHECK(get(store, "one") == noise(50'000, 1));
    const Result<DeviceId> fresh = store.add_fast_device(first + "-new");
    REQUIRE(message_of(fresh.status()) == "");
    added = *fresh;
    REQUIRE(message_of(put(store, "two", noise(50'000, 2)).status()) == "");
  }
  fixture.pool.fast_directories = {first + "-new"};
  {
    Store store = fixture.open(Access::kReadWrite, taking_risks());
    CHECK(store.status().health == Health::kOk);
    CHECK(get(store, "two") == noise(50'000, 2));
    REQUIRE(message_of(store.remove_device(added)) == "");
    REQUIRE(message_of(put(store, "three", noise(50'000, 3)).status()) == "");
  }
  fixture.pool.fast_directories.clear();
  Store store = fixture.open();
  CHECK(get(store, "three") == noise(50'000, 3));
  CHECK(deep_findings(store) == "");
}

}  // namespace
}  // namespace hexad::testing
