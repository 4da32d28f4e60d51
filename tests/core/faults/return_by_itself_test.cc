// A device that has left a store which is open comes back by itself: RS1 to RS5 of
// core/membership/return_schedule.h, BK13 to BK15 of doc/invariants.md#coming-back. In simulated
// time.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/base/thinned.h"
#include "tests/core/faults/awaited.h"
#include "tests/core/faults/leaving_world.h"

namespace hexad::testing {
namespace {

using io::FaultKind;
using io::IoOp;
using io::SimOp;
using io::SimSystem;

constexpr io::Nanos kMinute = 60 * kSecond;

RuntimeOptions options() {
  RuntimeOptions options = leaving_options();
  options.returns = Returns::kByThemselves;
  options.catch_up = CatchUp::kInBackground;
  return options;
}

struct World : LeavingWorld {
  void wait(io::Nanos time) { system.executor().sleep_for(time); }
  bool await(io::Nanos limit, const std::function<bool()>& ready) {
    return testing::await(system, limit, ready);
  }
  void await_back(Store& store, io::Nanos limit = kMinute) {
    const bool back = await(limit, [&] {
      const std::string now = state(store);
      return now == "ok" || now == "behind";
    });
    if (!back) problem += " it has not come back: " + state(store) + ", " + detail(store);
  }
  void await_whole(Store& store) {
    await_back(store);
    if (!await(kMinute, [&] { return store.status().health == Health::kOk; })) {
      problem += " it does not catch up";
    }
  }
  static std::string detail(Store& store, DeviceId id = kLeaver) {
    return store.status().devices[id].detail;
  }
  static JobStatus job(Store& store) {
    for (JobStatus& job : store.status().jobs) {
      if (job.name == "return") return job;
    }
    return {};
  }
  static std::uint64_t returned(Store& store) {
    for (const Counter& counter : store.counters()) {
      if (counter.name == "devices_returned") return counter.since_open;
    }
    return 0;
  }
  // What tells them apart is in `text`.
  void expect_detail(Store& store, const std::string& text) {
    if (detail(store).find(text) == std::string::npos) problem += " detail: " + detail(store);
  }
  void expect_warning(Store& store, const std::string& text) {
    const std::string all = warning_of(store);
    const bool right = text.empty() ? all.empty() : all.find(text) != std::string::npos;
    if (!right) problem += " warnings: " + all;
  }
};

// A fresh store, and what `body` says of it.
std::string run(SimOrigin& origin, std::uint64_t seed,
                const std::function<void(World&, Store&)>& body,
                const RuntimeOptions& how = options()) {
  const auto system = origin.start(seed);
  World world{{*system, origin.pool()}};
  system->run([&] {
    {
      Result<Store> opened = Store::open(world.pool, how, system.get());
      if (!opened.ok()) {
        world.problem = opened.error().to_string();
        return;
      }
      world.churn(*opened, 5);
      body(world, *opened);
      world.problem += world.model.check(*opened);
      if (const Status closed = opened->close(); !closed.ok()) {
        world.problem += closed.error().to_string();
      }
    }
    if (world.problem.empty()) world.read_without_any_two(3);
  });
  return world.problem;
}

TEST_CASE("by itself: a device that left under load comes back without a word, and is whole") {
  SimOrigin origin(large_disks(), fill);
  for (const How how : {How::kErrors, How::kFlushes, How::kHangs, How::kPulled}) {
    CAPTURE(static_cast<int>(how));
    const std::string problem = run(origin, 7, [how](World& world, Store& store) {
      world.leave(store, how);
      bool over = false;
      const auto committer = world.system.executor().start("committer", [&] {
        while (!over && world.problem.empty()) {
          world.churn(store, 1);
          world.wait(20'000'000);
        }
      });
      world.wait(2 * kSecond);
      world.expect_detail(store, "looked at again in");
      world.mend(how);
      world.await_whole(store);
      over = true;
      committer->join();
      world.expect_warning(store, "");
      if (World::job(store).steps != 1) world.problem += " it was not the job";
      if (!World::job(store).problem.empty()) world.problem += " the job has a problem";
      if (World::returned(store) != 1) world.problem += " it is not counted";
      world.look_deep(store);
    });
    REQUIRE(problem == "");
  }
}

TEST_CASE("by itself: as long as it is not there nothing is written, and nobody is told again") {
  SimOrigin origin(large_disks(), fill);
  const std::string problem = run(origin, 8, [](World& world, Store& store) {
    world.leave(store, How::kPulled);
    world.wait(kMinute);
    const auto written = [&] {
      std::uint64_t all = 0;
      for (int i = 0; i < 6; ++i) {
        all += world.system.disk("dev" + std::to_string(i)).counts().writes;
      }
      return all;
    };
    const std::uint64_t before = written();
    const StoreStatus at_first = store.status();
    world.wait(90 * kMinute);
    if (written() != before) world.problem += " something was written";
    const StoreStatus at_last = store.status();
    if (at_last.warnings != at_first.warnings || at_last.notes != at_first.notes) {
      world.problem += " something was said";
    }
    if (at_last.epoch != at_first.epoch) world.problem += " a root was written";
    if (World::job(store).steps != 0) world.problem += " it has done something";
    world.expect_detail(store, "looked at again in");
    world.mend(How::kPulled);
    // At last every ten minutes.
    world.await_back(store, 10 * kMinute + kSecond);
    world.await_whole(store);
  });
  REQUIRE(problem == "");
}

TEST_CASE("by itself: one that has come back three times and left again waits to be asked for") {
  SimOrigin origin(large_disks(), fill);
  const std::string problem = run(origin, 9, [](World& world, Store& store) {
    for (int times = 0; times < 3; ++times) {
      world.leave(store, times == 1 ? How::kPulled : How::kErrors);
      world.mend(How::kPulled);
      world.await_back(store, 4 * kMinute);
      if (times != 1) world.await_whole(store);
      world.expect_warning(store, "");
    }
    world.leave(store, How::kErrors);
    world.mend(How::kErrors);
    world.wait(30 * 60 * kMinute);
    if (World::state(store) != "failed") world.problem += " it has come back once more";
    world.expect_detail(store, "stays away until it is asked for");
    world.expect_warning(store, "hexad device online POOL 2");
    if (World::returned(store) != 3) world.problem += " it is not counted";
    const Status asked = store.bring_back_device(kLeaver);
    if (!asked.ok()) world.problem += asked.error().to_string();
    world.expect_warning(store, "");
    world.await_whole(store);
    world.leave(store, How::kPulled);
    world.mend(How::kPulled);
    world.await_whole(store);
    world.look_deep(store);
  });
  REQUIRE(problem == "");
}

// It answers all that it is asked when it is looked at, and fails what it is given.
TEST_CASE("by itself: one that fails each time that it is taken in is given up") {
  SimOrigin origin(large_disks(), fill);
  const std::string problem = run(origin, 10, [](World& world, Store& store) {
    world.leave(store, How::kErrors);
    world.system.disk(kDisk).clear_faults();
    // All goes well until it is in use.
    world.system.set_hook([&](const SimOp& op) -> std::optional<FaultKind> {
      const bool fails =
          op.disk == kDisk && op.op == IoOp::kWrite && World::state(store) == "behind";
      if (fails) return FaultKind::kWriteErrorBefore;
      return std::nullopt;
    });
    const bool stays = world.await(
        30 * kMinute, [&] { return World::detail(store).find("stays away") != std::string::npos; });
    if (!stays) world.problem += " it is tried again and again: " + World::detail(store);
    const Epoch epoch = store.status().epoch;
    world.wait(60 * kMinute);
    if (store.status().epoch != epoch) world.problem += " and again";
    world.system.set_hook(nullptr);
    if (const Status asked = store.bring_back_device(kLeaver); !asked.ok()) {
      world.problem += asked.error().to_string();
    }
    world.await_whole(store);
  });
  REQUIRE(problem == "");
}

TEST_CASE(
    "by itself: what stands at its path and is not it is told, and changed for the right one") {
  SimOrigin origin(large_disks(), fill);
  const std::string problem = run(origin, 11, [&](World& world, Store& store) {
    world.leave(store, How::kPulled);
    // As a disk that was put in its place, and one that has lost writes.
    const auto right = world.system.disk(kDisk).snapshot();
    world.wait(40 * kSecond);
    world.expect_warning(store, "");
    for (const auto& [wrong, why] :
         {std::pair(world.system.disk("dev3").snapshot(), "device 3 of this store"),
          std::pair(origin.content(kDisk), "stale")}) {
      world.system.disk(kDisk).replace(wrong);
      world.system.disk(kDisk).appear();
      const std::uint64_t writes = world.system.disk(kDisk).counts().writes;
      world.wait(11 * kMinute);
      world.expect_warning(store, why);
      world.expect_detail(store, "looked at again in");
      if (World::state(store) != "failed") world.problem += " it is " + World::state(store);
      if (world.system.disk(kDisk).counts().writes != writes) world.problem += " written to";
    }
    world.system.disk(kDisk).replace(right);
    world.await_back(store, 11 * kMinute);
    world.expect_warning(store, "");
    world.await_whole(store);
    world.look_deep(store);
  });
  REQUIRE(problem == "");
}

TEST_CASE("by itself: not as long as it owes an answer from before it left") {
  SimOrigin origin(large_disks(), fill);
  const std::string problem = run(origin, 12, [](World& world, Store& store) {
    world.leave(store, How::kHangs);
    world.system.set_hook(nullptr);
    const std::uint64_t reads = world.system.disk(kDisk).counts().reads;
    world.wait(30 * kMinute);
    if (World::state(store) != "failed") world.problem += " it is " + World::state(store);
    if (world.system.disk(kDisk).counts().reads != reads) world.problem += " it was looked at";
    world.expect_warning(store, "");
    world.mend(How::kHangs);
    world.await_back(store, 11 * kMinute);
    world.await_whole(store);
    world.look_deep(store);
  });
  REQUIRE(problem == "");
}

// A disk that can be opened and answers nothing: each look is one read, and the next one waits
// until that is answered. Nobody else waits for it.
TEST_CASE(
    "by itself: a look that hangs is the last one until it is answered, and holds up nobody") {
  SimOrigin origin(large_disks(), fill);
  const std::string problem = run(origin, 13, [](World& world, Store& store) {
    world.leave(store, How::kPulled);
    std::uint64_t hung = 0;
    world.system.set_hook([&hung](const SimOp& op) -> std::optional<FaultKind> {
      if (op.disk != kDisk) return std::nullopt;
      ++hung;
      return FaultKind::kHang;
    });
    world.mend(How::kPulled);
    if (!world.await(kMinute, [&] { return hung > 0; })) world.problem += " it is not looked at";
    // Amid the look.
    const io::Nanos began = world.system.clock().now();
    if (store.drain_device(3).ok()) world.problem += " drained without a device to spare";
    if (const Status undrained = store.undrain_device(3); !undrained.ok()) {
      world.problem += undrained.error().to_string();
    }
    if (const Status other = store.bring_back_device(4);
        other.ok() || other.error().code != ErrorCode::kAlreadyExists) {
      world.problem += " device 4";
    }
    if (world.system.clock().now() - began >= kSecond) world.problem += " others have waited";
    if (!world.system.open_device(kDisk, io::OpenMode::kReadWrite).ok()) {
      world.problem += " a look locks the disk";
    }
    world.wait(60 * kMinute);
    if (hung != 1) world.problem += " looked at " + std::to_string(hung) + " times";
    world.expect_warning(store, "");
    world.churn(store, 3);
    release(world.system, {kDisk});
    world.await_back(store, 11 * kMinute);
    world.await_whole(store);
    world.look_deep(store);
  });
  REQUIRE(problem == "");
}

TEST_CASE("by itself: a store is closed, and its memory freed, amid a look that hangs") {
  SimOrigin origin(large_disks(), fill);
  const auto system = origin.start(14);
  World world{{*system, origin.pool()}};
  system->run([&] {
    {
      Result<Store> store = Store::open(world.pool, options(), system.get());
      world.churn(*store, 5);
      world.leave(*store, How::kPulled);
      bool hung = false;
      system->set_hook([&hung](const SimOp& op) -> std::optional<FaultKind> {
        if (op.disk != kDisk) return std::nullopt;
        hung = true;
        return FaultKind::kHang;
      });
      world.mend(How::kPulled);
      if (!world.await(kMinute, [&] { return hung; })) world.problem += " it is not looked at";
      const io::Nanos began = system->clock().now();
      if (const Status closed = store->close(); !closed.ok()) {
        world.problem += closed.error().to_string();
      }
      if (system->clock().now() - began >= kSecond) world.problem += " close() has waited";
    }
    release(*system, {kDisk});
    world.wait(kSecond);
    if (!world.problem.empty()) return;
    Result<Store> store = Store::open(world.pool, options(), system.get());
    if (!store.ok()) {
      world.problem += "again: " + store.error().to_string();
      return;
    }
    world.await_whole(*store);
    world.problem += world.model.check(*store);
  });
  REQUIRE(world.problem == "");
}

TEST_CASE("by itself: the fast device, too, and none where it is to be asked for") {
  SimOrigin origin(large_disks(), fill);
  const std::string& log = origin.disks().back();
  const auto lose_log = [&](World& world, Store& store) {
    world.system.disk(log).inject(
        {.kind = FaultKind::kWriteErrorBefore, .times = io::Fault::kForever});
    world.churn(store, 3);
    if (World::state(store, 6) != "failed") world.problem += " the fast one has not left";
    world.system.disk(log).clear_faults();
  };
  const std::string back = run(origin, 15, [&](World& world, Store& store) {
    lose_log(world, store);
    if (!world.await(kMinute, [&] { return World::state(store, 6) == "ok"; })) {
      world.problem += " it is " + World::state(store, 6) + " " + World::detail(store, 6);
    }
    if (!store.status().devices[6].holds_log) world.problem += " it has no log";
    world.churn(store, 3);
    world.look_deep(store);
  });
  REQUIRE(back == "");
  RuntimeOptions asked = options();
  asked.returns = Returns::kWhenAsked;
  const std::string away = run(
      origin, 16,
      [&](World& world, Store& store) {
        lose_log(world, store);
        world.wait(60 * kMinute);
        if (World::state(store, 6) != "failed") world.problem += " it is " + World::state(store, 6);
        if (World::detail(store, 6).find("hexad device online") == std::string::npos) {
          world.problem += World::detail(store, 6);
        }
      },
      asked);
  REQUIRE(away == "");
}

// AD5
TEST_CASE("by itself: not a device that is drained, and on which nothing is left") {
  SimPoolOptions disks = large_disks();
  disks.data_disks = 7;
  SimOrigin origin(disks, fill);
  const std::string problem = run(origin, 17, [](World& world, Store& store) {
    if (const Status drains = store.drain_device(kLeaver); !drains.ok()) {
      world.problem += drains.error().to_string();
      return;
    }
    const bool emptied =
        world.await(kMinute, [&] { return store.status().devices[kLeaver].slabs_used == 0; });
    if (!emptied) world.problem += " it is not emptied";
    world.system.disk(kDisk).vanish();
    world.churn(store, 3);
    if (const Status done = store.checkpoint(); !done.ok()) world.problem += " no checkpoint";
    if (World::state(store) != "failed") world.problem += " it is " + World::state(store);
    world.mend(How::kPulled);
    world.wait(30 * kMinute);
    if (World::state(store) != "failed") world.problem += " it is " + World::state(store);
    world.expect_detail(store, "hexad device remove");
    if (const Status removed = store.remove_device(kLeaver); !removed.ok()) {
      world.problem += removed.error().to_string();
    }
    world.wait(kMinute);
  });
  REQUIRE(problem == "");
}

// BK13: the power fails, or the store is closed, behind each request of a return by itself.
enum class End : std::uint8_t { kPower, kClosed, kDropped };

TEST_CASE("by itself: the power fails, or the store ends, behind each request of the return") {
  SimOrigin origin(large_disks(), fill);
  for (const End end : {End::kPower, End::kClosed, End::kDropped}) {
    bool whole = false;
    for (std::uint64_t at = 0; !whole; at += kThinned * (7 + at / 10)) {
      CAPTURE(static_cast<int>(end), at);
      REQUIRE(at < 20'000);
      const auto system = origin.start(900 + at);
      World world{{*system, origin.pool()}};
      std::uint64_t left = at;
      bool reached = false;
      const auto arm = [&] {
        system->set_hook([&](const SimOp&) -> std::optional<FaultKind> {
          if (left > 0) {
            --left;
            return std::nullopt;
          }
          reached = true;
          if (end != End::kPower) return std::nullopt;
          return FaultKind::kDeviceError;
        });
      };
      system->run([&] {
        Result<Store> opened = Store::open(world.pool, options(), system.get());
        if (!opened.ok()) {
          world.problem = opened.error().to_string();
          return;
        }
        Store& store = *opened;
        world.churn(store, 5);
        world.leave(store, How::kErrors);
        world.mend(How::kErrors);
        bool over = false;
        const auto committer = system->executor().start("committer", [&] {
          while (!over) {
            world.wait(20'000'000);
            if (!world.put(store)) break;
          }
        });
        world.wait(4 * kSecond);
        arm();
        const auto ended = [&] { return reached || World::state(store) == "ok"; };
        for (int i = 0; i < 400'000 && !ended(); ++i) world.wait(1'000'000);
        whole = !reached;
        if (!reached && World::state(store) != "ok") world.problem += " it has not come back";
        if (end == End::kClosed) {
          if (const Status closed = store.close(); !closed.ok()) {
            world.problem += " close: " + closed.error().to_string();
          }
        }
        over = true;
        committer->join();
        system->set_hook(nullptr);
      });
      system->power_cut();
      REQUIRE(world.problem == "");
      system->run([&] {
        const int other = static_cast<int>(at % 5);
        world.read_without({kDisk, "dev" + std::to_string(other < 2 ? other : other + 1)});
        if (!world.problem.empty()) return;
        Result<Store> store = Store::open(world.pool, leaving_options(), system.get());
        if (!store.ok()) {
          world.problem = "again: " + store.error().to_string();
          return;
        }
        world.problem += world.model.check(*store);
        world.look_deep(*store);
      });
      REQUIRE(world.problem == "");
    }
  }
}

}  // namespace
}  // namespace hexad::testing
