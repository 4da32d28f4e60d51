// A device that is lost, or a fast one, is replaced while the store is open and serves: RP1 to RP6
// of doc/invariants.md#replacing-while-the-store-serves. In simulated time, under load, with the
// power cut behind each request of the replacement.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <set>
#include <string>
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

TEST_CASE("replace open: a lost device is replaced under load, by one of any size that will do") {
  SimOrigin origin(large_disks(), fill);
  for (const How how : {How::kErrors, How::kHangs, How::kPulled}) {
    for (const std::uint64_t size : {16_MiB, 12_MiB, 40_MiB}) {
      CAPTURE(static_cast<int>(how), size);
      const auto system = start(origin, 1, size);
      World world{*system, origin.pool()};
      system->run([&] {
        with_one_lost(
            world,
            [&](Store& store) {
              const std::uint32_t slabs = World::device(store, kGone)->slabs;
              bool over = false;
              const auto committer = system->executor().start("committer", [&] {
                while (!over && world.problem.empty()) world.churn(store, 1);
              });
              const Result<DeviceId> done = store.replace_device({kGone, kNew});
              world.expect_ok(done.status(), "replace");
              world.expect(!done.ok() || *done == kGone, "another number");
              world.expect(World::state(store, kGone) == "behind", World::state(store, kGone));
              world.expect(World::path(store, kGone) == kNew, World::path(store, kGone));
              world.expect(store.status().faults_tolerated == 1, "behind counts as whole");
              const std::uint32_t now = World::device(store, kGone)->slabs;
              world.expect(size == 16_MiB ? now == slabs : (now > slabs) == (size > 16_MiB),
                           std::to_string(now) + " slabs");
              // Again: it is there.
              const Result<DeviceId> again = store.replace_device({kGone, kNew});
              world.expect(again.ok() && *again == kGone, "again");
              world.catch_up(store);
              over = true;
              committer->join();
              world.problem += world.model.check(store);
              world.look_deep(store);
              // What the former one was asked for still comes, to itself alone.
              system->disk(kOld).clear_faults();
              system->disk(kOld).appear();
              system->disk(kOld).release_hung();
              system->executor().sleep_for(kSecond);
              world.expect_refused(store.bring_back_device(kGone, kOld), ErrorCode::kAlreadyExists,
                                   "in use");
              world.churn(store, 3);
              world.look_deep(store);
              const std::string last = World::device(store, kGone)->last_completion.kind;
              world.expect(last == "rebuild", "remembered: " + last);
            },
            how);
        const PoolDescription before = world.pool;
        world.pool.devices.emplace_back(kNew);
        world.open([&](Store& store) {
          std::string seen;
          for (const DeviceStatus& one : store.status().devices) {
            if (one.path == kOld) seen += one.state;
          }
          world.expect(seen == "foreign", "the former one is " + seen);
        });
        world.pool = before;
        world.describe(kNew);
        world.end_well();
        // Whoever finds it away knows how many slabs it has.
        system->disk(kNew).vanish();
        world.open([&](Store& store) {
          world.churn(store, 2);
          system->disk(kNew).appear();
          world.expect_ok(store.bring_back_device(kGone, kNew), "back");
          world.catch_up(store);
        });
      });
      REQUIRE(world.problem == "");
    }
  }
}

TEST_CASE("replace open: the power fails behind each request of it and of the catch-up") {
  SimOrigin origin(large_disks(), fill);
  std::set<std::string> seen;  // which of the two was the member afterwards
  for (const std::uint64_t size : {16_MiB, 12_MiB, 24_MiB}) {
    bool whole = false;
    for (std::uint64_t at = 0; !whole; at += kThinned * (3 + at / 24)) {
      CAPTURE(size, at);
      REQUIRE(at < 20'000);
      const auto system = start(origin, 100 + at, size);
      World world{*system, origin.pool()};
      Cut cut{at, ""};
      system->run([&] {
        with_one_lost(world, [&](Store& store) {
          bool over = false;
          const auto committer = system->executor().start("committer", [&] {
            while (!over && world.put(store)) {
            }
          });
          arm(*system, cut);
          const Result<DeviceId> done = store.replace_device({kGone, kNew});
          const bool caught = done.ok() && store.catch_up().ok();
          over = true;
          committer->join();
          whole = caught && !cut.struck;
          if (!cut.struck) world.expect_ok(done.status(), "replace");
          system->set_hook(nullptr);
        });
      });
      system->power_cut();
      system->disk(kOld).clear_faults();
      REQUIRE(world.problem == "");
      system->run([&] {
        // Whichever it has, one other may be missing beside it.
        world.pool.devices.emplace_back(kNew);
        const std::string other = "dev" + std::to_string(at / 3 % 2 == 0 ? 1 : 4);
        system->disk(other).vanish();
        world.open([&](Store& store) { world.problem += world.model.check(store); },
                   Access::kReadOnly);
        for (const char* disk : {kOld, kNew}) system->disk(disk).vanish();
        world.open([&](Store& store) { world.problem += world.model.check(store); },
                   Access::kReadOnly);
        for (const char* disk : {kOld, kNew}) system->disk(disk).appear();
        system->disk(other).appear();
        std::string member;
        world.open([&](Store& store) {
          member = World::path(store, kGone);
          world.expect(World::state(store, kGone) == "behind" || World::state(store, kGone) == "ok",
                       World::state(store, kGone));
          world.problem += world.model.check(store);
        });
        seen.insert(member);
        std::erase(world.pool.devices, kNew);
        world.describe(member);
        world.end_well(5);
      });
      REQUIRE(world.problem == "");
    }
  }
  REQUIRE(seen == std::set<std::string>{kOld, kNew});
}

// A root that names the new one is on some devices, and perhaps not on that itself.
TEST_CASE("replace open: the power fails behind each root that is sent to the others") {
  SimOrigin origin(large_disks(), fill);
  bool whole = false;
  for (std::uint64_t at = 0; !whole; ++at) {
    CAPTURE(at);
    REQUIRE(at < 500);
    const auto system = start(origin, 200 + at);
    World world{*system, origin.pool()};
    std::uint64_t left = at;
    bool struck = false;
    system->run([&] {
      with_one_lost(world, [&](Store& store) {
        system->set_hook([&](const SimOp& op) -> std::optional<FaultKind> {
          const bool root = op.op == IoOp::kWrite && op.cause == io::IoCause::kSuper;
          if (!struck && root && op.disk != kNew) struck = left-- == 0;
          return struck ? std::optional(FaultKind::kDeviceError) : std::nullopt;
        });
        const Result<DeviceId> done = store.replace_device({kGone, kNew});
        whole = !struck;
        if (whole) world.expect_ok(done.status(), "replace");
      });
    });
    system->set_hook(nullptr);
    system->power_cut();
    system->disk(kOld).clear_faults();
    REQUIRE(world.problem == "");
    system->run([&] {
      world.pool.devices.emplace_back(kNew);
      std::string member;
      world.open([&](Store& store) {
        member = World::path(store, kGone);
        const std::string state = World::state(store, kGone);
        world.expect(state == "behind" || state == "ok", state);
      });
      std::erase(world.pool.devices, kNew);
      world.describe(member);
      world.end_well(7);
    });
    REQUIRE(world.problem == "");
  }
}

// Where it does not come to use the former one has the place, and comes back with all that was
// written meanwhile.
TEST_CASE("replace open: the new one, or another, fails or hangs behind each request of it") {
  SimOrigin origin(large_disks(), fill);
  int back = 0;
  int stayed = 0;
  for (const FaultKind kind : {FaultKind::kDeviceError, FaultKind::kHang}) {
    for (const std::string disk : {kNew, "dev4"}) {
      bool whole = false;
      for (std::uint64_t at = 0; !whole; at += kThinned * (1 + at / 8)) {
        CAPTURE(static_cast<int>(kind), disk, at);
        REQUIRE(at < 5000);
        const auto system = start(origin, 300 + at);
        World world{*system, origin.pool()};
        Cut cut{at, disk, kind};
        system->run([&] {
          with_one_lost(world, [&](Store& store) {
            bool over = false;
            const auto committer = system->executor().start("committer", [&] {
              while (!over && world.problem.empty()) {
                world.churn(store, 1);
                // Seconds in which a device hangs are thousands of commits.
                if (cut.struck) system->executor().sleep_for(kSecond / 4);
              }
            });
            arm(*system, cut);
            const Result<DeviceId> done = store.replace_device({kGone, kNew});
            whole = !cut.struck;
            if (!cut.struck) world.expect_ok(done.status(), "replace");
            over = true;
            committer->join();
            world.churn(store, 3);
            world.problem += world.model.check(store);
            system->set_hook(nullptr);
            system->disk(disk).release_hung();
            system->disk(kOld).clear_faults();
            system->executor().sleep_for(kSecond);
            for (const DeviceId id : {DeviceId{kGone}, DeviceId{4}}) {
              if (World::state(store, id) == "ok" || World::state(store, id) == "behind") continue;
              if (id == kGone) World::path(store, id) == kOld ? ++back : ++stayed;
              world.expect_ok(store.bring_back_device(id), "again " + std::to_string(id));
            }
            world.churn(store, 3);
            world.catch_up(store);
            world.look_deep(store);
            world.describe(World::path(store, kGone));
          });
          if (world.problem.empty()) world.read_without_any_two(world.pool.devices, 4);
        });
        REQUIRE(world.problem == "");
      }
    }
  }
  CHECK(back > 0);
  CHECK(stayed > 0);
}

// Its cells were durable on the device before that left, and are not on the new one (RP4).
TEST_CASE(
    "replace open: what was in flight when it left is missing on the new one, and is filled") {
  SimOrigin origin(large_disks(), fill);
  for (const bool cut : {false, true}) {
    CAPTURE(cut);
    const auto system = start(origin, 5);
    World world{*system, origin.pool()};
    const std::string bytes = noise(2'500'000, 77);
    system->run([&] {
      Result<Store> opened = Store::open(world.pool, replacing(), system.get());
      world.expect_ok(opened.status(), "open");
      if (!opened.ok()) return;
      Store& store = *opened;
      Result<std::unique_ptr<ObjectWriter>> writer =
          store.open_writer(kDefaultCollection, "stream");
      world.expect_ok(writer.status(), "writer");
      if (!writer.ok()) return;
      world.expect_ok((*writer)->append(as_bytes(bytes).first(2'000'000)), "write");
      world.lose(store, How::kErrors);
      world.expect_ok(store.replace_device({kGone, kNew}).status(), "replace");
      const Result<CatchUpReport> report = store.catch_up();
      world.expect_ok(report.status(), "catch up");
      // What is in flight may turn out to be missing.
      world.expect(report.ok() && report->bytes_missing > 0, "whole with a stream in flight");
      world.expect(store.status().faults_tolerated == 1, "whole in status");
      world.expect_ok((*writer)->append(as_bytes(bytes).subspan(2'000'000)), "write");
      world.expect_ok((*writer)->commit().status(), "commit");
      if (!cut) world.catch_up(store);
      if (cut) system->set_hook([](const SimOp&) { return FaultKind::kDeviceError; });
    });
    system->set_hook(nullptr);
    if (cut) system->power_cut();
    REQUIRE(world.problem == "");
    system->run([&] {
      world.describe(kNew);
      world.open([&](Store& store) {
        if (cut) world.expect(World::state(store, kGone) == "behind", "it is not behind");
        world.catch_up(store);
        world.look_deep(store);
      });
      const std::vector<std::string> disks = world.pool.devices;
      for (std::size_t a = 0; a < disks.size(); ++a) {
        for (std::size_t b = a + 1; b < disks.size(); ++b) {
          system->disk(disks[a]).vanish();
          system->disk(disks[b]).vanish();
          world.open(
              [&](Store& store) {
                const Result<Bytes> found = store.get(kDefaultCollection, "stream");
                world.expect(found.ok() && as_text(*found) == std::string_view(bytes),
                             "the stream without " + disks[a] + " and " + disks[b]);
              },
              Access::kReadOnly);
          system->disk(disks[a]).appear();
          system->disk(disks[b]).appear();
        }
      }
    });
    REQUIRE(world.problem == "");
  }
}

TEST_CASE("replace open: the store is closed behind each request of it, then the power fails") {
  SimOrigin origin(large_disks(), fill);
  bool whole = false;
  bool closed_first = false;
  for (std::uint64_t at = 0; !whole; at += kThinned * (2 + at / 12)) {
    CAPTURE(at);
    REQUIRE(at < 20'000);
    const auto system = start(origin, 500 + at);
    World world{*system, origin.pool()};
    system->run([&] {
      with_one_lost(world, [&](Store& store) {
        bool reached = false;
        bool over = false;
        std::uint64_t left = at;
        const auto committer = system->executor().start("committer", [&] {
          while (!over && world.put(store)) {
          }
        });
        const auto closer = system->executor().start("closer", [&] {
          while (!reached && !over) system->executor().sleep_for(20'000);
          if (reached) world.expect_ok(store.close(), "close");
        });
        system->set_hook([&](const SimOp&) -> std::optional<FaultKind> {
          if (left-- == 0) reached = true;
          return std::nullopt;
        });
        const Result<DeviceId> done = store.replace_device({kGone, kNew});
        whole = !reached;
        over = true;
        committer->join();
        closer->join();
        system->set_hook(nullptr);
        if (!done.ok() && (whole || done.error().code != ErrorCode::kClosed)) {
          world.problem += " replace: " + done.error().to_string();
        }
        closed_first = closed_first || !done.ok();
      });
    });
    system->power_cut();
    system->disk(kOld).clear_faults();
    REQUIRE(world.problem == "");
    system->run([&] {
      world.pool.devices.emplace_back(kNew);
      std::string member;
      world.open([&](Store& store) { member = World::path(store, kGone); });
      std::erase(world.pool.devices, kNew);
      world.describe(member);
      world.end_well(5);
    });
    REQUIRE(world.problem == "");
  }
  REQUIRE(closed_first);
}

TEST_CASE("replace open: one is replaced again while it is behind, and another beside it") {
  SimOrigin origin(large_disks(), fill);
  const auto system = start(origin, 8);
  system->add_disk("dev7", 16_MiB + alloc::kEndsSize);
  system->add_disk("dev8", 16_MiB + alloc::kEndsSize);
  World world{*system, origin.pool()};
  system->run([&] {
    with_one_lost(world, [&](Store& store) {
      world.expect_ok(store.replace_device({kGone, kNew}).status(), "replace");
      world.expect_refused(store.replace_device({kGone, "dev7"}).status(),
                           ErrorCode::kInvalidArgument, "is given what it missed");
      world.churn(store, 3);
      // It fails in its turn, and so does another one.
      world.lose(store, How::kErrors, kNew);
      world.lose(store, How::kErrors, "dev4", 4);
      world.expect(store.status().faults_tolerated == 0, "tolerance");
      world.expect_ok(store.replace_device({kGone, "dev7"}).status(), "replace again");
      world.expect_ok(store.replace_device({4, "dev8"}).status(), "replace another");
      world.churn(store, 3);
      world.problem += world.model.check(store);
      world.catch_up(store);
      world.look_deep(store);
      system->disk(kNew).clear_faults();
      world.expect_refused(store.bring_back_device(kGone, kNew), ErrorCode::kAlreadyExists,
                           "in use");
    });
    world.describe("dev7");
    for (std::string& one : world.pool.devices) {
      if (one == "dev4") one = "dev8";
    }
    world.end_well();
  });
  REQUIRE(world.problem == "");
}

TEST_CASE("replace open: what may not be put in its place is refused, and says why") {
  SimOrigin origin(large_disks(), fill);
  const auto system = start(origin, 9);
  system->add_disk("small", 6_MiB);
  World world{*system, origin.pool()};
  system->run([&] {
    with_one_lost(world, [&](Store& store) {
      const auto refused = [&](DeviceId id, const std::string& path, ErrorCode code,
                               const std::string& words) {
        world.expect_refused(store.replace_device({id, path}).status(), code, words);
        world.expect(World::path(store, kGone) == kOld, "it has another path");
        world.churn(store, 1);
      };
      refused(77, kNew, ErrorCode::kNotFound, "no device 77");
      refused(kGone, "", ErrorCode::kInvalidArgument, "no path");
      refused(kGone, "dev3", ErrorCode::kAlreadyExists, "is device 3 of the store");
      refused(kGone, "small", ErrorCode::kNoSpace, "zones use slabs up to");
      system->disk(kOld).clear_faults();
      refused(kGone, kOld, ErrorCode::kAlreadyExists, "is device 2 itself");
      world.expect_ok(store.bring_back_device(kGone), "back");
      world.catch_up(store);
      world.look_deep(store);
    });
    world.end_well(3);
  });
  REQUIRE(world.problem == "");
}

// Lost, or in use still. Its log is elsewhere, so the directory can be thrown away.
TEST_CASE("replace open: a fast device goes to another directory, behind each request if need be") {
  SimOrigin origin(large_disks(), fill);
  const std::string old = origin.disks().back();
  for (const bool lost : {true, false}) {
    bool whole = false;
    for (std::uint64_t at = 0; !whole; at += kThinned * (2 + at / 12)) {
      CAPTURE(lost, at);
      REQUIRE(at < 5000);
      const auto system = origin.start(900 + at);
      World world{*system, origin.pool()};
      // Indexes are files, and there is one of its own for each.
      const std::string other =
          world.pool.fast_directories.front() + (lost ? "-lost" : "-") + std::to_string(at);
      Cut cut{at, ""};
      system->run([&] {
        Result<Store> store = Store::open(world.pool, replacing(), system.get());
        world.expect_ok(store.status(), "open");
        if (!store.ok()) return;
        world.churn(*store, 4);
        if (lost) world.lose(*store, How::kErrors, old, 6);
        arm(*system, cut);
        const Result<DeviceId> done = store->replace_device({6, other});
        whole = done.ok() && !cut.struck;
        if (cut.struck) return;
        system->set_hook(nullptr);
        world.expect_ok(done.status(), "replace");
        world.expect(done.ok() && *done == 6, "number");
        world.churn(*store, 3);
        world.expect_ok(store->checkpoint(), "checkpoint");
        world.expect(World::path(*store, 6) == other + "/log", World::path(*store, 6));
        world.expect(World::device(*store, 6)->holds_log, "it has no log");
        world.expect(World::state(*store, 6) == "ok", World::state(*store, 6));
        world.expect(store->status().faults_tolerated == 2, "tolerance");
        world.expect_ok(store->replace_device({6, other}).status(), "again");
        world.problem += world.model.check(*store);
        world.look_deep(*store);
      });
      system->set_hook(nullptr);
      system->power_cut();
      REQUIRE(world.problem == "");
      system->run([&] {
        system->disk(old).clear_faults();
        if (whole) system->disk(old).vanish();
        if (whole) world.pool.fast_directories.clear();
        // Whichever of the two it is.
        world.pool.fast_directories.push_back(other);
        world.end_well(4);
        if (whole)
          world.open([&](Store& store) {
            world.expect(World::state(store, 6) == "ok", World::state(store, 6));
          });
      });
      REQUIRE(world.problem == "");
    }
  }
}

// --- one that answers ---

}  // namespace
}  // namespace hexad::testing
