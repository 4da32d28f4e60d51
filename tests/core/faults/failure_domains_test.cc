// Devices in failure domains (FD1 to FD3 of alloc/failure_domains.h): a store loses nothing with a
// whole domain, however many devices are in it; closed, open, amid commits, amid moves, and when
// the power is cut behind that. In simulated time.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "alloc/device_layout.h"
#include "core/api/device_questions.h"
#include "tests/base/thinned.h"
#include "tests/core/faults/growing_world.h"
#include "tests/core/sim_origin.h"

namespace hexad::testing {
namespace {

using io::FaultKind;

// 4+2 on three shelves of four: two cells of a stripe on each.
const std::string kShelves = "AAAABBBBCCCC";

SimPoolOptions on_shelves(const std::string& domains = kShelves) {
  SimPoolOptions options;
  options.failure_domains = domains;
  options.data_disks = domains.size();
  options.device_size = 8_MiB;
  options.slab_size = 512_KiB;
  return options;
}

struct ShelvedWorld : GrowingWorld {
  std::string domains = kShelves;

  std::vector<std::string> shelf(char name) const {
    std::vector<std::string> disks;
    for (std::size_t i = 0; i < domains.size(); ++i) {
      if (domains[i] == name) disks.push_back("dev" + std::to_string(i));
    }
    return disks;
  }
  void vanish(const std::vector<std::string>& disks) const {
    for (const std::string& disk : disks) system.disk(disk).vanish();
  }
  void appear(const std::vector<std::string>& disks) const {
    for (const std::string& disk : disks) system.disk(disk).appear();
  }
  // With any one domain away.
  void read_without_any_domain() {
    std::set<char> names(domains.begin(), domains.end());
    names.erase('.');  // removed
    for (const char name : names) {
      vanish(shelf(name));
      open([&](Store& store) { problem += check(store); }, Access::kReadOnly);
      appear(shelf(name));
      if (!problem.empty()) problem += std::string(" (without ") + name + ")";
    }
  }
};

void require_well(const ShelvedWorld& world) { REQUIRE(world.problem == ""); }

TEST_CASE("failure_domains: whichever shelf is away, everything is read, written, and made whole") {
  SimOrigin origin(on_shelves(), fill);
  for (const char name : {'A', 'B', 'C'}) {
    const auto system = origin.start(7);
    ShelvedWorld world{{{*system, origin.pool()}}};
    CAPTURE(name);
    system->run([&] {
      world.read_without_any_domain();
      world.vanish(world.shelf(name));
      world.open([&](Store& store) {
        const StoreStatus status = store.status();
        world.expect(status.health == Health::kDegraded, "not degraded");
        world.expect(status.faults_tolerated == 0, "tolerates more");
        world.expect(status.domain_cells == 2, "not two cells");
        world.problem += world.check(store);
        world.churn(store, 20);
        world.expect_ok(store.checkpoint(), "checkpoint");
        world.churn(store, 20);
      });
      world.appear(world.shelf(name));
      world.open([&](Store& store) {
        world.expect_ok(store.catch_up().status(), "catch-up");
        world.expect_right(store);
        world.expect_whole(store, 12);
      });
      world.read_without_any_domain();
      world.read_without_any_two({"dev0", "dev3", "dev4", "dev8", "dev11"});
    });
    require_well(world);
  }
}

TEST_CASE(
    "failure_domains: three cells are more than the profile survives, on however many devices") {
  SimOrigin origin(on_shelves(), fill);
  const auto system = origin.start(7);
  ShelvedWorld world{{{*system, origin.pool()}}};
  std::string refused;
  system->run([&] {
    world.vanish({"dev0", "dev1", "dev2", "dev3", "dev4"});
    for (const Access access : {Access::kReadOnly, Access::kReadWrite}) {
      RuntimeOptions how;
      how.access = access;
      const Result<Store> store = Store::open(world.pool, how, system.get());
      world.expect(!store.ok() && store.error().code == ErrorCode::kUnavailable, "opened");
      if (!store.ok()) refused = store.error().message;
    }
    world.appear({"dev4"});
    world.open([&](Store& store) { world.problem += world.check(store); }, Access::kReadOnly);
  });
  require_well(world);
  CAPTURE(refused);
  CHECK(refused.find("by their failure domains a stripe may have 3 cells on the others, and the "
                     "profile survives 2") != std::string::npos);
}

// The devices of a shelf fail one after the other, or at once, amid commits; then the power is cut.
TEST_CASE(
    "failure_domains: a shelf fails under an open store, and the power is cut anywhere behind") {
  SimOrigin origin(on_shelves(), fill);
  int went_on = 0;  // commits that were acknowledged without the whole shelf
  for (std::uint64_t cut = 0; cut < 120 / kThinned; ++cut) {
    const auto system = origin.start(cut);
    ShelvedWorld world{{{*system, origin.pool()}}};
    world.patience = 10;
    const char name = "ABC"[cut % 3];
    const std::vector<std::string> shelf = world.shelf(name);
    CAPTURE(cut, name);
    system->run([&] {
      Result<Store> store = Store::open(world.pool, growing(), system.get());
      world.expect_ok(store.status(), "open");
      if (!store.ok()) return;
      world.churn(*store, 5);
      // It counts from the first request of the shelf.
      std::uint64_t seen = 0;
      std::uint64_t left = 7 * cut;
      system->set_hook([&](const io::SimOp& op) -> std::optional<FaultKind> {
        const auto at = std::find(shelf.begin(), shelf.end(), op.disk);
        const bool fails = at != shelf.end();
        if (seen > 0 && left == 0) return FaultKind::kDeviceError;  // nothing reaches any disk
        if (seen > 0) --left;
        if (!fails) return std::nullopt;
        // In every other run each of them fails some requests after the one before.
        const auto nth = static_cast<std::uint64_t>(at - shelf.begin());
        ++seen;
        if (cut % 2 == 1 && seen < 4 * nth) return std::nullopt;
        return FaultKind::kDeviceError;
      });
      bool without = false;
      for (int i = 0; i < 60 && world.put(*store); ++i) {
        const auto failed = [&](const std::string& disk) {
          const auto id = static_cast<DeviceId>(std::stoul(disk.substr(3)));
          return ShelvedWorld::state(*store, id) == "failed";
        };
        // It was so before another one was acknowledged.
        went_on += without ? 1 : 0;
        without = std::all_of(shelf.begin(), shelf.end(), failed);
      }
    });
    system->set_hook(nullptr);
    system->power_cut();
    system->run([&] {
      // The shelf stays away, with the first one all that is fast, too; then it is back, and
      // another one is away.
      std::vector<std::string> away = shelf;
      if (name == 'A') away.push_back(origin.disks().back());
      world.vanish(away);
      world.open([&](Store& store) {
        world.problem += world.check(store);
        world.churn(store, 10);
      });
      world.appear(away);
      world.open([&](Store& store) {
        world.expect_ok(store.catch_up().status(), "catch-up");
        world.expect_right(store);
        world.expect_whole(store, 12);
      });
      world.read_without_any_domain();
    });
    require_well(world);
  }
  CHECK(went_on > 0);
}

TEST_CASE("failure_domains: devices of a shelf that hang together are left behind together") {
  SimOrigin origin(on_shelves(), fill);
  const auto system = origin.start(3);
  ShelvedWorld world{{{*system, origin.pool()}}};
  world.patience = 10;
  std::size_t failed = 0;
  system->run([&] {
    world.open([&](Store& store) {
      const std::vector<std::string> shelf = world.shelf('B');
      system->set_hook([shelf](const io::SimOp& op) -> std::optional<FaultKind> {
        const bool hangs = std::find(shelf.begin(), shelf.end(), op.disk) != shelf.end();
        return hangs ? std::optional(FaultKind::kHang) : std::nullopt;
      });
      world.churn(store, 10);
      for (const DeviceStatus& device : store.status().devices) {
        failed += device.state == "failed" ? 1 : 0;
      }
      world.problem += world.check(store);
      release(*system, shelf);
    });
  });
  require_well(world);
  CHECK(failed == 4);
}

// --- more, fewer and other devices ---

TEST_CASE("failure_domains: a shelf more takes its share, and the loss of any is survived then") {
  SimOrigin origin(on_shelves("AAABBBCCC"), fill);
  const auto system = origin.start(5);
  const std::vector<std::string> shelf = {"dev9", "dev10", "dev11"};
  for (const std::string& disk : shelf) system->add_disk(disk, 8_MiB + alloc::kEndsSize);
  ShelvedWorld world{{{*system, origin.pool()}}, "AAABBBCCCDDD"};
  std::uint64_t taken = 0;
  system->run([&] {
    world.open([&](Store& store) {
      // What is there already fills most of the shelves.
      world.churn(store, 60);
      world.expect_refused(store.add_device("dev9").status(), ErrorCode::kInvalidArgument,
                           "the devices of the store are in failure domains (A, B, C), and none is "
                           "named for this one");
      world.expect_refused(store.add_device("dev9", {}, "no name").status(),
                           ErrorCode::kInvalidArgument, "is no name of a failure domain");
      for (const std::string& disk : shelf) {
        world.expect_ok(store.add_device(disk, {}, "D").status(), "add");
      }
      world.expect_ok(store.move_slabs({}).status(), "move");
      world.churn(store, 40);
      for (const DeviceStatus& device : store.status().devices) {
        if (device.failure_domain == "D") taken += device.slabs_used;
      }
      world.expect_right(store);
    });
    world.pool.devices.insert(world.pool.devices.end(), shelf.begin(), shelf.end());
    world.read_without_any_domain();
    // One shelf goes: its devices are drained and removed.
    world.open([&](Store& store) {
      for (const DeviceId id : {0U, 1U, 2U}) {
        world.expect_ok(store.drain_device(id), "drain");
        world.expect_ok(store.move_slabs({}).status(), "move");
        world.expect_ok(store.remove_device(id), "remove");
      }
      // Of each shelf two are needed now. What is drained of one is in no other's way.
      world.expect_ok(store.drain_device(3), "drain");
      world.expect_ok(store.drain_device(6), "drain");
      world.expect_refused(store.drain_device(4), ErrorCode::kNoSpace, "(2 in each)");
      world.expect_ok(store.move_slabs({}).status(), "move");
      world.expect_right(store);
    });
    for (const char* const disk : {"dev0", "dev1", "dev2"}) std::erase(world.pool.devices, disk);
    world.domains = "...BBBCCCDDD";
    world.read_without_any_domain();
  });
  require_well(world);
  CHECK(taken > 0);
}

TEST_CASE("failure_domains: what a lost device held is built again on its own shelf") {
  SimOrigin origin(on_shelves("AAABBBCCC"), fill);
  const auto system = origin.start(5);
  ShelvedWorld world{{{*system, origin.pool()}}, "AAABBBCCC"};
  system->run([&] {
    world.open([&](Store& store) {
      world.churn(store, 20);
      system->disk("dev4").vanish();
      for (int i = 0; i < 50 && world.state(store, 4) != "failed"; ++i) world.churn(store, 1);
      world.expect_ok(store.drain_device(4), "drain");
      world.expect_ok(store.move_slabs({}).status(), "move");
      world.expect_ok(store.catch_up().status(), "catch-up");
      world.expect_ok(store.remove_device(4), "remove");
      world.expect_right(store);
      world.expect(store.status().faults_tolerated == 2, "not whole");
      // Another one of it goes: two cells of a stripe need two devices there.
      world.expect_refused(
          store.drain_device(5), ErrorCode::kNoSpace,
          "in failure domains where a stripe can have 5 cells on them (2 in each)");
    });
    std::erase(world.pool.devices, "dev4");
    world.domains = "AAAB.BCCC";
    world.read_without_any_domain();
  });
  require_well(world);
}

TEST_CASE("failure_domains: a device that takes the place of another one has its domain") {
  SimOrigin origin(on_shelves("AABBCC"), fill);
  const auto system = origin.start(5);
  for (const char* const disk : {"dev6", "dev7"}) system->add_disk(disk, 8_MiB + alloc::kEndsSize);
  ShelvedWorld world{{{*system, origin.pool()}}, "AABBCC"};
  std::string lost;
  std::string answering;
  system->run([&] {
    world.open([&](Store& store) {
      system->disk("dev2").vanish();
      for (int i = 0; i < 50 && world.state(store, 2) != "failed"; ++i) world.churn(store, 1);
      world.expect_ok(store.replace_device({2, "dev6"}).status(), "replace");
      world.expect_ok(store.catch_up().status(), "catch-up");
      lost = world.device(store, 2)->failure_domain;
      const Result<DeviceId> by = store.replace_device({4, "dev7"});
      world.expect_ok(by.status(), "replace");
      if (by.ok()) answering = world.device(store, *by)->failure_domain;
      world.expect_right(store);
      world.expect_whole(store, 6);
    });
  });
  require_well(world);
  CHECK(lost == "B");
  CHECK(answering == "C");
}

TEST_CASE("failure_domains: what may be taken away is said as it is") {
  SimOrigin origin(on_shelves(), fill);
  const auto system = origin.start(3);
  ShelvedWorld world{{{*system, origin.pool()}}};
  StoreStatus status;
  system->run(
      [&] { world.open([&](Store& store) { status = store.status(); }, Access::kReadOnly); });
  require_well(world);
  const auto ask = [&](const std::vector<DeviceId>& ids) {
    return can_offline(status, ids, StoreUse::kNobody).value();
  };
  CHECK(ask({0, 1, 2, 3}).allowed);
  CHECK(ask({0, 1, 2, 3}).faults_tolerated == 0);
  CHECK(ask({0, 11}).allowed);
  CHECK_FALSE(ask({0, 4, 8}).allowed);
  CHECK_FALSE(ask({0, 1, 2, 3, 4}).readable);
  CHECK(ask({0, 1, 2, 3, 4}).reason ==
        "without devices 0, 1, 2, 3, 4 a stripe would lose 3 more cells; the profile survives the "
        "loss of 2");
}

}  // namespace
}  // namespace hexad::testing
