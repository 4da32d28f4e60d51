// Merges of runs that go on beside commits and checkpoints.
#include <catch2/catch.hpp>
#include <string>

#include "base/units.h"
#include "tests/core/rules_world.h"

namespace hexad::testing {
namespace {

constexpr int kRuns = 8;  // more than so many are merged

std::uint64_t counter(Store& store, const std::string& name) {
  for (const Counter& each : store.counters()) {
    if (each.name == name) return each.since_open;
  }
  return 0;
}

std::string name_of(int number) { return "object" + std::to_string(number); }

// A checkpoint with something in it.
bool checkpoint(Store& store, int number) {
  Transaction t;
  t.put(kDefaultCollection, name_of(number), noise(3000, number));
  t.set_attr(kDefaultCollection, name_of(number), "some", noise(200, number));
  return store.commit(std::move(t)).ok() && store.checkpoint().ok();
}

// "" when every byte of the capacity is somebody's.
std::string unaccounted(Store& store) {
  const Result<SpaceUsage> space = store.space();
  if (!space.ok()) return space.error().to_string();
  const std::uint64_t known =
      space->available + space->internally_reserved + space->internal_metadata + space->allocated;
  if (known == space->capacity) return "";
  return std::to_string(known) + " bytes of " + std::to_string(space->capacity) + " accounted for";
}

// "" when the first `count` objects are there, and nothing is wrong with the store.
std::string difference(Store& store, int count) {
  for (int i = 0; i < count; ++i) {
    const Result<Bytes> bytes = store.get(kDefaultCollection, name_of(i));
    if (!bytes.ok()) return name_of(i) + ": " + bytes.error().message;
    if (as_text(*bytes) != noise(3000, i)) return name_of(i) + " differs";
  }
  return findings(store);
}

// Holds back what merges write. How many writes that are.
int& hold_merges(World& world, int& held) {
  world.hold([&held](const SimOp& op) {
    const bool merge = op.op == io::IoOp::kWrite && op.cause == io::IoCause::kMerge;
    held += merge ? 1 : 0;
    return merge;
  });
  return held;
}

TEST_CASE("background merge: commits and checkpoints go on while it is held back") {
  World world;
  constexpr int kMany = kRuns + 5;
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    int held = 0;
    hold_merges(world, held);
    for (int i = 0; i < kMany; ++i) {
      if (!checkpoint(store, i)) return "checkpoint";
    }
    world.sleep();
    if (held == 0) return "nothing was merged";
    if (counter(store, "checkpoints") < kMany) return "checkpoints";
    if (counter(store, "runs_merged") != 0) return "a merge came in before it was written";
    if (std::string wrong = unaccounted(store); !wrong.empty()) return "held back: " + wrong;
    if (std::string wrong = difference(store, kMany); !wrong.empty()) return wrong;
    world.release();
    world.sleep();
    if (std::string wrong = unaccounted(store); !wrong.empty()) return "written: " + wrong;
    if (!checkpoint(store, kMany)) return "the checkpoint after it";
    if (std::string wrong = unaccounted(store); !wrong.empty()) return "come in: " + wrong;
    if (counter(store, "runs_merged") < 2) return "it did not come in";
    if (std::string wrong = difference(store, kMany + 1); !wrong.empty()) return wrong;
    return store.close().ok() ? "" : "close";
  }) == "");
  REQUIRE(world.with_store([](Store& store) { return difference(store, kMany + 1); }) == "");
}

TEST_CASE("background merge: checkpoints wait for it when there are too many runs, and no sooner") {
  World world;
  constexpr int kMost = 30;
  int made = 0;
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    int held = 0;
    hold_merges(world, held);
    std::string problem;
    auto writer = world.system().executor().start("writer", [&] {
      for (; made < kMost && problem.empty(); ++made) {
        if (!checkpoint(store, made)) problem = "checkpoint";
      }
    });
    for (int i = 0; i < 20; ++i) world.sleep();
    const int before = made;
    world.release();
    for (int i = 0; i < 20; ++i) world.sleep();
    writer->join();
    if (before < kRuns + 5 || before == kMost) return std::to_string(before) + " runs";
    if (counter(store, "runs_merged") < kRuns) return "few were merged";
    return problem.empty() ? difference(store, kMost) : problem;
  }) == "");
}

TEST_CASE("background merge: checkpoints do not wait for a long one, whose inputs stay") {
  for (const bool cut : {false, true}) {
    CAPTURE(cut);
    World world;
    constexpr int kMany = 60;
    REQUIRE(world.with_store([&](Store& store) -> std::string {
      // The first stripe that a merge writes: so one merge gets no further.
      int held = 0;
      world.hold([&held](const SimOp& op) {
        if (op.op != io::IoOp::kWrite || op.cause != io::IoCause::kMerge || held == 6) return false;
        ++held;
        return true;
      });
      for (int i = 0; i < kMany; ++i) {
        if (!checkpoint(store, i)) return "checkpoint";
      }
      if (held != 6) return "no merge was held back";
      if (counter(store, "runs_merged") < kMany / 2) return "few were merged beside it";
      if (std::string wrong = unaccounted(store); !wrong.empty()) return "held back: " + wrong;
      if (std::string wrong = difference(store, kMany); !wrong.empty()) return wrong;
      if (cut) {
        world.power_cut();
        return "";
      }
      world.release();
      return store.close().ok() ? "" : "close";
    }) == "");
    REQUIRE(world.with_store([](Store& store) { return difference(store, kMany); }) == "");
  }
}

TEST_CASE("background merge: a power cut while it is under way leaves the runs as they were") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    CAPTURE(seed);
    World world({.volatile_caches = seed % 2 == 0, .seed = seed});
    constexpr int kMany = kRuns + 3;
    REQUIRE(world.with_store([&](Store& store) -> std::string {
      int held = 0;
      hold_merges(world, held);
      for (int i = 0; i < kMany; ++i) {
        if (!checkpoint(store, i)) return "checkpoint";
      }
      world.sleep();
      if (held == 0) return "nothing was merged";
      world.power_cut();
      return "";
    }) == "");
    REQUIRE(world.with_store([&](Store& store) -> std::string {
      if (std::string wrong = difference(store, kMany); !wrong.empty()) return wrong;
      // And what was begun is done anew.
      for (int i = 0; i < 3; ++i) {
        if (!checkpoint(store, kMany + i)) return "checkpoint";
        world.sleep();
      }
      if (counter(store, "runs_merged") == 0) return "nothing was merged after it";
      return difference(store, kMany + 3);
    }) == "");
  }
}

TEST_CASE("background merge: where nobody writes any more, it comes in all the same") {
  const bool asked = GENERATE(false, true);
  CAPTURE(asked);
  World world;
  constexpr int kMany = kRuns + 3;
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    int held = 0;
    hold_merges(world, held);
    for (int i = 0; i < kMany; ++i) {
      if (!checkpoint(store, i)) return "checkpoint";
    }
    world.release();
    world.sleep();
    if (counter(store, "runs_merged") != 0) return "it came in by itself at once";
    if (asked && !store.checkpoint().ok()) return "the checkpoint that was asked for";
    for (int i = 0; i < 120 && !asked; ++i) world.sleep();
    if (counter(store, "runs_merged") == 0) return "it did not come in";
    // Once, and then there is peace.
    const std::uint64_t checkpoints = counter(store, "checkpoints");
    for (int i = 0; i < 120; ++i) world.sleep();
    if (counter(store, "checkpoints") > checkpoints + 1) return "checkpoints without end";
    return difference(store, kMany);
  }) == "");
  REQUIRE(world.with_store([](Store& store) { return difference(store, kMany); }) == "");
}

TEST_CASE("background merge: a device that fails one leaves, though nothing comes of the merge") {
  World world;
  constexpr int kMany = kRuns + 3;
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    int failed = 0;
    int refused = 0;
    world.hook([&](const SimOp& op) -> std::optional<FaultKind> {
      if (op.op != io::IoOp::kWrite || op.cause != io::IoCause::kMerge) return std::nullopt;
      if (op.disk == "dev4" && failed == 0 && ++failed > 0) return FaultKind::kWriteErrorBefore;
      if (op.disk == "dev5") {  // so that every merge fails, for a reason that is no device's
        ++refused;
        return FaultKind::kWriteNoSpace;
      }
      return std::nullopt;
    });
    for (int i = 0; i < kMany && failed == 0; ++i) {
      if (!checkpoint(store, i)) return "checkpoint";
      world.sleep();
    }
    if (failed == 0 || refused == 0) return "nothing was merged";
    // Nobody commits anything, and no checkpoint is due.
    for (int i = 0; i < 3; ++i) world.sleep();
    world.hook(nullptr);
    std::string lost;
    for (const DeviceStatus& device : store.status().devices) {
      if (device.state != "ok") lost += device.path + " ";
    }
    if (lost != "dev4 ") return "lost: " + lost;
    return findings(store);
  }) == "");
}

TEST_CASE("background merge: closing waits for it, and the next opening has it") {
  World world;
  constexpr int kMany = kRuns + 3;
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    int held = 0;
    hold_merges(world, held);
    for (int i = 0; i < kMany; ++i) {
      if (!checkpoint(store, i)) return "checkpoint";
    }
    world.sleep();
    if (held == 0) return "nothing was merged";
    if (!store.commit(put_of("last", "one")).ok()) return "commit";
    bool closed = false;
    Status status;
    auto closer = world.system().executor().start("closer", [&] {
      status = store.close();
      closed = true;
    });
    world.sleep();
    const bool early = closed;
    world.release();
    closer->join();
    if (early) return "closed before";
    return status.ok() ? "" : status.error().to_string();
  }) == "");
  REQUIRE(world.with_store([](Store& store) { return difference(store, kMany); }) == "");
}

}  // namespace
}  // namespace hexad::testing
