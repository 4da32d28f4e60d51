// A device leaves a store that is open, under load, and comes back while it goes on: BK10 of
// doc/invariants.md#coming-back. In simulated time, with the power cut behind each request of the
// return.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tests/base/thinned.h"
#include "tests/core/faults/leaving_world.h"

namespace hexad::testing {
namespace {

using io::Fault;
using io::FaultKind;
using io::SimOp;
using io::SimSystem;

RuntimeOptions options() { return leaving_options(); }

struct World : LeavingWorld {
  void mend(Store& store, How how) {
    if (how == How::kHangs) {
      // Its last requests may still be carried out.
      const Status refused = store.bring_back_device(kLeaver);
      if (refused.ok() || refused.error().code != ErrorCode::kUnavailable) {
        problem += " taken in while it owes answers";
      }
    }
    LeavingWorld::mend(how);
  }
};

TEST_CASE("rejoin: a device comes back while commits go on, gets what it missed, leaves again") {
  SimOrigin origin(large_disks(), fill);
  for (const How how : {How::kErrors, How::kFlushes, How::kHangs, How::kPulled}) {
    CAPTURE(static_cast<int>(how));
    const auto system = origin.start(7);
    World world{{*system, origin.pool()}};
    system->run([&] {
      {
        Result<Store> opened = Store::open(world.pool, options(), system.get());
        if (!opened.ok()) {
          world.problem = opened.error().to_string();
          return;
        }
        Store& store = *opened;
        world.churn(store, 5);
        for (int times = 0; times < 3; ++times) {
          world.leave(store, how);
          world.mend(store, how);
          bool over = false;
          const auto committer = system->executor().start("committer", [&] {
            while (!over && world.problem.empty()) world.churn(store, 1);
          });
          const Status back = store.bring_back_device(kLeaver);
          if (!back.ok()) world.problem += " back: " + back.error().to_string();
          if (world.problem.empty() && World::state(store) != "behind") {
            world.problem += " it is " + World::state(store);
          }
          if (store.status().faults_tolerated != 1) world.problem += " behind counts as whole";
          const Status again = store.bring_back_device(kLeaver);
          if (again.ok() || again.error().code != ErrorCode::kAlreadyExists) {
            world.problem += " taken in twice";
          }
          // Once it leaves again while it still lacks something.
          if (times != 1) world.catch_up(store);
          over = true;
          committer->join();
          world.problem += world.model.check(store);
          world.look_deep(store);
          if (!world.problem.empty()) break;
        }
        if (const Status closed = store.close(); !closed.ok()) {
          world.problem += closed.error().to_string();
        }
      }
      world.read_without_any_two();
    });
    REQUIRE(world.problem == "");
  }
}

// Requests from the `cut`-th of the return on: none reaches a disk. Or they fail on one disk alone.
struct Cut {
  std::uint64_t left;
  std::string disk;  // empty: the power
  bool struck = false;
};

void arm(SimSystem& system, Cut& cut) {
  system.set_hook([&cut](const SimOp& op) -> std::optional<FaultKind> {
    if (!cut.disk.empty() && op.disk != cut.disk) return std::nullopt;
    if (cut.left > 0) {
      --cut.left;
      return std::nullopt;
    }
    cut.struck = true;
    return FaultKind::kDeviceError;
  });
}

// A store that has been open for a while, and that the device has left: it could come back now.
Result<Store> open_without(World& world, How how) {
  Result<Store> store = Store::open(world.pool, options(), &world.system);
  if (!store.ok()) {
    world.problem = store.error().to_string();
    return store;
  }
  world.churn(*store, 5);
  world.leave(*store, how);
  world.mend(*store, how);
  return store;
}

TEST_CASE("rejoin: the power fails behind each request of the return and of the catch-up") {
  SimOrigin origin(large_disks(), fill);
  for (const How how : {How::kErrors, How::kHangs}) {
    bool whole = false;
    for (std::uint64_t at = 0; !whole; at += kThinned * (3 + at / 24)) {
      CAPTURE(static_cast<int>(how), at);
      REQUIRE(at < 20'000);
      const auto system = origin.start(100 + at);
      World world{{*system, origin.pool()}};
      Cut cut{at, ""};
      std::string after;
      system->run([&] {
        Result<Store> opened = open_without(world, how);
        if (!opened.ok()) return;
        Store& store = *opened;
        if (!world.problem.empty()) return;
        bool over = false;
        const auto committer = system->executor().start("committer", [&] {
          while (!over && world.put(store)) {
          }
        });
        arm(*system, cut);
        const Status back = store.bring_back_device(kLeaver);
        const bool caught = back.ok() && store.catch_up().ok();
        over = true;
        committer->join();
        whole = caught && !cut.struck;
        if (!back.ok() && !cut.struck) world.problem += " back: " + back.error().to_string();
        system->set_hook(nullptr);
      });
      system->power_cut();
      REQUIRE(world.problem == "");
      system->run([&] {
        // Whatever it lacks, one other may be missing beside it.
        const int other = static_cast<int>(at / 3 % 5);
        world.read_without({"dev" + std::to_string(other < 2 ? other : other + 1)});
        if (!world.problem.empty()) return;
        world.read_without({kDisk, "dev" + std::to_string(other < 2 ? other : other + 1)});
        if (!world.problem.empty()) return;
        {
          Result<Store> store = Store::open(world.pool, options(), system.get());
          if (!store.ok()) {
            world.problem = "again: " + store.error().to_string();
            return;
          }
          world.problem += world.model.check(*store);
          world.look_deep(*store);
          if (!world.problem.empty()) return;
          world.catch_up(*store);
          world.churn(*store, 2);
          world.look_deep(*store);
        }
        world.read_without_any_two(5);
      });
      REQUIRE(world.problem == "");
    }
  }
}

// It fails again, or another one does, at each request that it gets.
TEST_CASE("rejoin: a second failure behind each request of the return") {
  SimOrigin origin(large_disks(), fill);
  for (const std::string disk : {"dev2", "dev4"}) {
    bool whole = false;
    for (std::uint64_t at = 0; !whole; at += kThinned * (1 + at / 8)) {
      CAPTURE(disk, at);
      REQUIRE(at < 5000);
      const auto system = origin.start(300 + at);
      World world{{*system, origin.pool()}};
      Cut cut{at, disk};
      system->run([&] {
        {
          Result<Store> opened = open_without(world, How::kErrors);
          if (!opened.ok()) return;
          Store& store = *opened;
          bool over = false;
          const auto committer = system->executor().start("committer", [&] {
            while (!over && world.problem.empty()) world.churn(store, 1);
          });
          arm(*system, cut);
          const Status back = store.bring_back_device(kLeaver);
          whole = !cut.struck;
          if (!back.ok() && !cut.struck) world.problem += " back: " + back.error().to_string();
          over = true;
          committer->join();
          world.churn(store, 3);
          world.problem += world.model.check(store);
          // Once more, and both: the first try has left nothing that is in the way.
          system->set_hook(nullptr);
          for (const DeviceId id : {DeviceId{2}, DeviceId{4}}) {
            if (World::state(store, id) == "ok" || World::state(store, id) == "behind") continue;
            const Status again = store.bring_back_device(id);
            if (!again.ok()) world.problem += " again: " + again.error().to_string();
          }
          world.churn(store, 3);
          world.catch_up(store);
          world.look_deep(store);
        }
        if (world.problem.empty()) world.read_without_any_two(4);
      });
      REQUIRE(world.problem == "");
    }
  }
}

// The return ends then, and the groups of that moment have to be flushed all the same. All disks
// have one cache, so that each flush is for all of them.
TEST_CASE("rejoin: the store is closed behind each request of the return, then the power fails") {
  SimPoolOptions disks = large_disks();
  disks.one_cache = 6;
  SimOrigin origin(disks, fill);
  bool whole = false;
  bool closed_first = false;
  for (std::uint64_t at = 0; !whole; at += kThinned * (2 + at / 12)) {
    CAPTURE(at);
    REQUIRE(at < 20'000);
    const auto system = origin.start(500 + at);
    World world{{*system, origin.pool()}};
    system->run([&] {
      Result<Store> opened = open_without(world, How::kErrors);
      if (!opened.ok()) return;
      Store& store = *opened;
      for (int i = 0; i < 3; ++i) {
        if (!world.put(store, "of" + std::to_string(i))) world.problem += " a commit has failed";
      }
      if (!world.problem.empty()) return;
      bool reached = false;
      bool over = false;
      std::uint64_t left = at;
      std::vector<std::unique_ptr<io::Thread>> threads;
      for (int i = 0; i < 3; ++i) {
        threads.push_back(system->executor().start("committer", [&, i] {
          while (!over && world.put(store, "of" + std::to_string(i))) {
          }
        }));
      }
      threads.push_back(system->executor().start("closer", [&] {
        while (!reached && !over) system->executor().sleep_for(20'000);
        if (!reached) return;
        if (const Status done = store.close(); !done.ok()) {
          world.problem += " close: " + done.error().to_string();
        }
      }));
      system->set_hook([&](const SimOp&) -> std::optional<FaultKind> {
        if (left-- == 0) reached = true;
        return std::nullopt;
      });
      const Status back = store.bring_back_device(kLeaver);
      whole = !reached;
      over = true;
      for (const auto& thread : threads) thread->join();
      system->set_hook(nullptr);
      if (!back.ok() && (whole || back.error().code != ErrorCode::kClosed)) {
        world.problem += " back: " + back.error().to_string();
      }
      closed_first = closed_first || !back.ok();
    });
    system->power_cut();
    REQUIRE(world.problem == "");
    system->run([&] {
      const int other = static_cast<int>(at % 5);
      world.read_without({kDisk, "dev" + std::to_string(other < 2 ? other : other + 1)});
    });
    REQUIRE(world.problem == "");
  }
  REQUIRE(closed_first);
}

TEST_CASE(
    "rejoin: what is not the device that left, or has lost writes, is refused, and says why") {
  SimOrigin origin(large_disks(), fill);
  const auto system = origin.start(5);
  system->add_disk("blank", 16_MiB);
  system->add_disk("older", system->disk(kDisk).snapshot(), {});
  system->add_disk("other", system->disk("dev3").snapshot(), {});
  World world{{*system, origin.pool()}};
  const auto refused = [&](Store& store, const std::string& path, ErrorCode code,
                           const std::string& why) {
    const Status back = store.bring_back_device(kLeaver, path);
    if (back.ok()) {
      world.problem += " " + path + " is taken in";
    } else if (back.error().code != code || back.error().message.find(why) == std::string::npos) {
      world.problem += " " + path + ": " + back.error().to_string();
    }
    world.churn(store, 1);
  };
  const std::string said = with_store(
      *system, origin.pool(),
      [&](Store& store) {
        world.churn(store, 5);
        refused(store, "", ErrorCode::kAlreadyExists, "in use");
        if (const Status none = store.bring_back_device(77);
            none.ok() || none.error().code != ErrorCode::kNotFound) {
          world.problem += " there is no such device";
        }
        world.leave(store, How::kPulled);
        refused(store, "", ErrorCode::kNotFound, kDisk);
        world.mend(store, How::kPulled);
        refused(store, "blank", ErrorCode::kInvalidArgument, "not a hexad device");
        refused(store, "other", ErrorCode::kInvalidArgument, "device 3 of this store");
        refused(store, "dev3", ErrorCode::kBusy, "");
        refused(store, "older", ErrorCode::kUnavailable, "stale");
        // In the place of the one that it is.
        const Status back = store.bring_back_device(kLeaver, kDisk);
        if (!back.ok()) world.problem += " back: " + back.error().to_string();
        world.catch_up(store);
        world.look_deep(store);
        world.problem += world.model.check(store);
      },
      options());
  REQUIRE(said == "");
  REQUIRE(world.problem == "");
}

TEST_CASE("rejoin: a device that was not there when the store was opened, and the fast one") {
  SimOrigin origin(large_disks(), fill);
  const auto system = origin.start(6);
  World world{{*system, origin.pool()}};
  system->disk(kDisk).vanish();
  const std::string& log = origin.disks().back();
  const std::string said = with_store(
      *system, origin.pool(),
      [&](Store& store) {
        world.churn(store, 5);
        system->disk(kDisk).appear();
        if (const Status back = store.bring_back_device(kLeaver, kDisk); !back.ok()) {
          world.problem += " back: " + back.error().to_string();
        }
        world.catch_up(store);
        system->disk(log).inject({.kind = FaultKind::kWriteErrorBefore, .times = Fault::kForever});
        world.churn(store, 3);
        if (World::state(store, 6) != "failed") world.problem += " the fast one has not left";
        system->disk(log).clear_faults();
        if (const Status back = store.bring_back_device(6); !back.ok()) {
          world.problem += " fast: " + back.error().to_string();
        }
        if (!store.status().devices[6].holds_log) world.problem += " it has no log";
        world.churn(store, 3);
        world.catch_up(store);
        world.look_deep(store);
      },
      options());
  REQUIRE(said == "");
  REQUIRE(world.problem == "");
  system->run([&] { world.read_without_any_two(); });
  REQUIRE(world.problem == "");
}

}  // namespace
}  // namespace hexad::testing
