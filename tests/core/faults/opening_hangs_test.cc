// A path of a device that somebody has named, and the kernel does not come back from opening it:
// what others do meanwhile. In simulated time.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tests/core/faults/growing_world.h"

namespace hexad::testing {
namespace {

// The simulated system, where one path does not open until it is let go.
class HangingOpens final : public io::System {
 public:
  explicit HangingOpens(io::SimSystem& inner) : inner_(inner) {}

  std::string path;  // empty: none

  io::Executor& executor() override { return inner_.executor(); }
  io::Clock& clock() override { return inner_.clock(); }
  io::IoQueue& queue() override { return inner_.queue(); }
  std::uint64_t draw_seed() override { return inner_.draw_seed(); }
  Result<std::unique_ptr<io::Device>> open_device(const std::string& which,
                                                  io::OpenMode mode) override {
    hang(which);
    return inner_.open_device(which, mode);
  }
  Result<std::unique_ptr<io::Device>> create_device(const std::string& which,
                                                    std::uint64_t size) override {
    return inner_.create_device(which, size);
  }
  Result<std::vector<std::string>> make_directory(const std::string& which) override {
    hang(which);
    return inner_.make_directory(which);
  }
  Status remove_directory(const std::string& which) override {
    return inner_.remove_directory(which);
  }
  Status remove_created(const std::string& which) override { return inner_.remove_created(which); }

 private:
  void hang(const std::string& which) {
    while (which == path) executor().sleep_for(kSecond / 10);
  }

  io::SimSystem& inner_;
};

constexpr const char* kOther = "dev7";

struct HangingWorld : GrowingWorld {
  HangingOpens opens{system};

  template <typename Use>
  void serve(const Use& use) {
    system.run([&] {
      Result<Store> store = Store::open(pool, growing(), &opens);
      expect_ok(store.status(), "open");
      if (store.ok()) use(*store);
    });
  }
};

TEST_CASE("opening hangs: others change devices while a path that is to be added does not open") {
  SimOrigin origin(large_disks(), fill);
  const auto system = start(origin, 1);
  system->add_disk(kOther, 16_MiB + alloc::kEndsSize);
  HangingWorld world{{{*system, origin.pool()}}};
  DeviceId first = 0;
  DeviceId second = 0;
  world.serve([&](Store& store) {
    world.opens.path = kNew;
    const auto adder = system->executor().start("adder", [&] {
      const Result<DeviceId> added = store.add_device(kNew);
      world.expect_ok(added.status(), "the one that hung");
      if (added.ok()) first = *added;
    });
    system->executor().sleep_for(12 * kSecond);
    const std::string warned = warning_of(store);
    world.expect(warned.find("dev6 is being opened or made, for 1") == 0, "warned: " + warned);
    // Neither would know which of the two has made what is there.
    world.expect_refused(store.add_device(kNew).status(), ErrorCode::kBusy,
                         "dev6 is being added by another call");
    const Result<DeviceId> added = store.add_device(kOther);
    world.expect_ok(added.status(), "another one");
    if (added.ok()) second = *added;
    world.expect_ok(store.drain_device(0), "drain");
    world.expect_ok(store.undrain_device(0), "undrain");
    world.churn(store, 3);
    world.opens.path = "";
    adder->join();
    world.churn(store, 3);
    world.expect_whole(store, 8);
    world.expect_ok(store.close(), "close");
  });
  REQUIRE(world.problem == "");
  // The number of now, and the root of now.
  CHECK(first == second + 1);
  world.pool.devices.insert(world.pool.devices.end(), {kNew, kOther});
  system->run([&] { world.open([&](Store& store) { world.expect_right(store); }); });
  REQUIRE(world.problem == "");
}

TEST_CASE("opening hangs: the store is closed meanwhile, and the device is nobody's") {
  SimOrigin origin(large_disks(), fill);
  const auto system = start(origin, 2);
  HangingWorld world{{{*system, origin.pool()}}};
  world.serve([&](Store& store) {
    world.opens.path = kNew;
    Status status;
    const auto adder =
        system->executor().start("adder", [&] { status = store.add_device(kNew).status(); });
    system->executor().sleep_for(kSecond);
    world.churn(store, 3);
    world.expect_ok(store.close(), "close");
    world.opens.path = "";
    adder->join();
    world.expect_refused(status, ErrorCode::kClosed, "closed");
  });
  system->run([&] {
    world.pool.devices.emplace_back(kNew);
    world.open([&](Store& store) {
      world.expect_right(store);
      world.expect(GrowingWorld::data_devices(store) == 6, "it is a member");
    });
  });
  REQUIRE(world.problem == "");
}

// What is opened in the place of another one, or comes back, keeps the turn.
TEST_CASE("opening hangs: who waits for the turn of one that comes back is told, and leaves") {
  SimOrigin origin(large_disks(), fill);
  const auto system = start(origin, 3);
  HangingWorld world{{{*system, origin.pool()}}};
  world.serve([&](Store& store) {
    system->disk("dev2").vanish();
    world.churn(store, 3);
    world.expect(GrowingWorld::state(store, 2) != "ok", "it is there");
    system->disk("dev2").appear();
    world.opens.path = "dev2";
    const auto returner = system->executor().start(
        "returner", [&] { world.expect_ok(store.bring_back_device(2, ""), "back"); });
    system->executor().sleep_for(7 * kSecond);
    const std::string warned = warning_of(store);
    world.expect(warned.find("dev2 is being opened or made") != std::string::npos &&
                     warned.find("is refused after 30 s") != std::string::npos,
                 "warned: " + warned);
    const io::Nanos began = system->clock().now();
    world.expect_refused(store.drain_device(0), ErrorCode::kUnavailable, "dev2 is being opened");
    world.expect(system->clock().now() - began < 60 * kSecond, "it has waited");
    world.expect_refused(store.add_device(kNew).status(), ErrorCode::kUnavailable,
                         "devices are changed one at a time");
    world.opens.path = "";
    returner->join();
    world.expect_ok(store.add_device(kNew).status(), "add");
    world.expect_ok(store.catch_up({}).status(), "catch up");
    world.expect_whole(store, 7);
    world.expect_right(store);
  });
  REQUIRE(world.problem == "");
}

}  // namespace
}  // namespace hexad::testing
