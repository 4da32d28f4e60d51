// A device that is away for longer than `drain_lost_after` is drained by itself: DT1 to DT3 of
// core/jobs/drain_job.h. In simulated time.
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>

#include "alloc/device_layout.h"
#include "tests/core/faults/awaited.h"
#include "tests/core/faults/churned_world.h"
#include "tests/core/noise.h"

namespace hexad::testing {
namespace {

constexpr io::Nanos kMinute = 60 * kSecond;
constexpr std::uint64_t kAfter = 600;      // s
constexpr io::Nanos kLooks = 3 * kMinute;  // within which it is noticed
const std::string kLost = "dev2";

RuntimeOptions for_long(Returns returns) {
  RuntimeOptions options = churning();
  options.returns = returns;
  options.catch_up = CatchUp::kInBackground;
  options.drain_lost_after = kAfter;
  return options;
}

struct World : ChurnedWorld {
  void wait(io::Nanos time) { system.executor().sleep_for(time); }
  bool await(io::Nanos limit, const std::function<bool()>& ready) {
    return testing::await(system, limit, ready);
  }
  void lose(Store& store) {
    system.disk(kLost).vanish();
    for (int i = 0; i < 50 && device(store, kDrained).state != "failed"; ++i) churn(store, 1);
    if (device(store, kDrained).state != "failed") problem += " not lost";
  }
  void expect_draining(Store& store, bool wanted) {
    if (device(store, kDrained).draining == wanted) return;
    problem += wanted ? " it is not drained" : " it is drained";
  }
  void expect_words(const std::string& text, const std::string& words) {
    if (text.find(words) == std::string::npos) problem += " instead of " + words + ": " + text;
  }
  // All that it held is on others.
  bool await_built_again(Store& store) {
    return await(10 * kMinute, [&] {
      if (device(store, kDrained).slabs_used > 0) return false;
      for (const DeviceStatus& device : store.status().devices) {
        if (device.state == "filling" || device.state == "behind") return false;
      }
      return true;
    });
  }
};

void run(SimOrigin& origin, const RuntimeOptions& how,
         const std::function<void(World&, Store&)>& body) {
  const auto system = origin.start(7);
  World world{{*system, origin.pool()}};
  system->run([&] {
    Result<Store> opened = Store::open(world.pool, how, system.get());
    if (!opened.ok()) {
      world.problem = opened.error().to_string();
      return;
    }
    for (int i = 0; i < 60; ++i) world.put(*opened, "more" + std::to_string(i));
    body(world, *opened);
    world.problem += world.model.check(*opened);
    world.look_deep(*opened);
    world.expect(opened->close(), "close");
  });
  REQUIRE(world.problem == "");
}

TEST_CASE("lost for long: what it held is built again on the others, without a word") {
  SimOrigin origin(small_slabs(8), fill);
  run(origin, for_long(Returns::kByThemselves), [](World& world, Store& store) {
    world.lose(store);
    world.wait(kAfter * kSecond / 2);
    world.expect_draining(store, false);
    world.expect_words(World::device(store, kDrained).detail, "s what it held is built again");
    world.wait(kAfter * kSecond / 2 + kLooks);
    world.expect_draining(store, true);
    world.expect_words(World::device(store, kDrained).detail,
                       "away for 600 s (drain_lost_after), so what it held is built again");
    if (!world.await_built_again(store)) world.problem += " it is not built again";
    world.churn(store, 20);
    world.expect(store.remove_device(kDrained), "remove");
    if (store.status().faults_tolerated != 2) world.problem += " less is tolerated";
    if (store.status().health != Health::kOk) world.problem += " not whole";
  });
}

TEST_CASE("lost for long: one that comes back in time is not drained, and later is no more") {
  SimOrigin origin(small_slabs(8), fill);
  run(origin, for_long(Returns::kWhenAsked), [](World& world, Store& store) {
    world.lose(store);
    world.wait(kAfter * kSecond - kMinute);
    world.system.disk(kLost).appear();
    world.expect(store.bring_back_device(kDrained), "bring back");
    world.wait(2 * kAfter * kSecond);
    world.expect_draining(store, false);

    world.lose(store);
    if (!world.await(kAfter * kSecond + kLooks,
                     [&] { return World::device(store, kDrained).draining; })) {
      world.problem += " not drained the second time";
    }
    world.system.disk(kLost).appear();
    world.expect(store.bring_back_device(kDrained), "bring back again");
    if (!world.await(kLooks, [&] { return !World::device(store, kDrained).draining; })) {
      world.problem += " it is drained still";
    }
    if (!world.await(10 * kMinute, [&] { return store.status().health == Health::kOk; })) {
      world.problem += " not whole";
    }
    if (World::device(store, kDrained).detail.find("drain_lost_after") != std::string::npos) {
      world.problem += " detail: " + World::device(store, kDrained).detail;
    }
  });
}

TEST_CASE("lost for long: what somebody has asked for stays so") {
  SimOrigin origin(small_slabs(8), fill);
  run(origin, for_long(Returns::kWhenAsked), [](World& world, Store& store) {
    world.lose(store);
    world.wait(kAfter * kSecond + kLooks);
    world.expect_draining(store, true);
    world.expect(store.drain_device(kDrained), "drain");
    world.system.disk(kLost).appear();
    world.expect(store.bring_back_device(kDrained), "bring back");
    world.wait(kLooks);
    world.expect_draining(store, true);
    world.expect(store.undrain_device(kDrained), "undrain");
    world.wait(kLooks);
    world.expect_draining(store, false);
  });
}

TEST_CASE("lost for long: a device whose draining somebody has ended is left alone") {
  SimOrigin origin(small_slabs(8), fill);
  run(origin, for_long(Returns::kWhenAsked), [](World& world, Store& store) {
    world.lose(store);
    world.wait(kAfter * kSecond + kLooks);
    world.expect_draining(store, true);
    world.expect(store.undrain_device(kDrained), "undrain");
    world.wait(5 * kAfter * kSecond);
    world.expect_draining(store, false);
    if (World::device(store, kDrained).detail.find("built again") != std::string::npos) {
      world.problem += " detail: " + World::device(store, kDrained).detail;
    }
  });
}

// The first may have its slabs still when the second is looked at.
TEST_CASE("lost for long: of two with room for one, one is drained and of the other it is told") {
  SimOrigin origin(small_slabs(8), fill);
  run(origin, for_long(Returns::kWhenAsked), [](World& world, Store& store) {
    const auto percent_used = [&] {
      std::uint64_t all = 0;
      std::uint64_t used = 0;
      for (const DeviceStatus& device : store.status().devices) {
        if (device.role != "data") continue;
        all += device.slabs;
        used += device.slabs_used;
      }
      return 100 * used / all;
    };
    for (int i = 0; percent_used() < 78 && i < 1000; ++i) {
      Transaction t;
      t.put(kDefaultCollection, "large" + std::to_string(i), noise(1'000'000, 900 + i));
      world.expect(store.commit(std::move(t)).status(), "put");
    }
    world.lose(store);
    world.system.disk("dev5").vanish();
    for (int i = 0; i < 50 && World::device(store, 5).state != "failed"; ++i) world.churn(store, 1);
    const auto drained = [&] {
      return World::device(store, kDrained).draining + World::device(store, 5).draining;
    };
    if (!world.await(kAfter * kSecond + kLooks, [&] { return drained() > 0; })) {
      world.problem += " none is drained";
    }
    if (drained() != 1) world.problem += " both are drained";
    world.expect_words(warning_of(store), "of which devices that are drained already need");
    world.system.disk("dev5").appear();
    world.expect(store.bring_back_device(5), "bring back");
    if (!world.await_built_again(store)) world.problem += " it is not built again";
  });
}

TEST_CASE("lost for long: without room the reason is told until there is some") {
  SimOrigin origin(small_slabs(6), fill);
  run(origin, for_long(Returns::kWhenAsked), [](World& world, Store& store) {
    world.lose(store);
    world.wait(kAfter * kSecond + kLooks);
    world.expect_draining(store, false);
    world.expect_words(warning_of(store), "cannot be built again on the others: without device 2");
    for (const std::string& note : store.status().notes) {
      if (note.find("built again") != std::string::npos) world.problem += " twice: " + note;
    }
    world.system.add_disk("more", 16_MiB + alloc::kEndsSize);
    world.expect(store.add_device("more").status(), "add");
    world.wait(kLooks);
    world.expect_draining(store, true);
    if (!world.await_built_again(store)) world.problem += " it is not built again";
    if (!warning_of(store).empty()) world.problem += " warned: " + warning_of(store);
  });
}

TEST_CASE("lost for long: one that was not there when the store was opened is drained, too") {
  SimOrigin origin(small_slabs(8), fill);
  const auto system = origin.start(9);
  World world{{*system, origin.pool()}};
  system->run([&] {
    system->disk(kLost).vanish();
    Result<Store> opened = Store::open(world.pool, for_long(Returns::kByThemselves), system.get());
    if (!opened.ok()) {
      world.problem = opened.error().to_string();
      return;
    }
    world.churn(*opened, 10);
    world.wait(kAfter * kSecond + kLooks);
    world.expect_draining(*opened, true);
    if (!world.await_built_again(*opened)) world.problem += " it is not built again";
    world.look_deep(*opened);
    world.expect(opened->close(), "close");
  });
  REQUIRE(world.problem == "");
}

TEST_CASE("lost for long: nobody has said so, and nothing is drained") {
  SimOrigin origin(small_slabs(8), fill);
  RuntimeOptions how = for_long(Returns::kWhenAsked);
  how.drain_lost_after = 0;
  run(origin, how, [](World& world, Store& store) {
    world.lose(store);
    world.wait(100 * kAfter * kSecond);
    world.expect_draining(store, false);
  });
}

}  // namespace
}  // namespace hexad::testing
