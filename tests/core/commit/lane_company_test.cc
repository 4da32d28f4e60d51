// C14: which groups wait for company, and for how long.
#include <functional>
#include <vector>

#include "core/commit/lane.h"
#include "tests/core/commit/lane_world.h"

namespace hexad::testing {
namespace {

using io::SimOp;

// A group of `size`, answered, and then one of a single commit of which the log is held back.
void answer_many_then_hold_one(LaneWorld& world, int size) {
  for (int i = 0; i < size; ++i) REQUIRE(world.submit());
  world.lane().pump();
  world.settle();
  REQUIRE(world.groups() == 1);
  REQUIRE(world.answers.size() == static_cast<std::size_t>(size));
  world.hold([&](const SimOp& op) { return world.is_log(op); });
  world.submit_and_pump();
  world.settle();
  REQUIRE(world.groups() == 2);
}

std::vector<std::uint32_t> sizes_of_groups(const LaneWorld& world) {
  std::vector<std::uint32_t> sizes;
  for (const kv::ScannedBlock& block : world.scan().blocks) {
    sizes.push_back(block.header.record_count);
  }
  return sizes;
}

TEST_CASE(
    "lane: beside another group one waits until it has half of all callers, or they are all back") {
  LaneWorld world;
  answer_many_then_hold_one(world, 10);
  for (int i = 0; i < 4; ++i) world.submit_and_pump();
  REQUIRE(world.groups() == 2);
  world.submit_and_pump();
  REQUIRE(world.groups() == 3);
  // The rest of them are fewer than are under way, and go out with the last who may come.
  for (int i = 0; i < 3; ++i) world.submit_and_pump();
  REQUIRE(world.groups() == 3);
  world.submit_and_pump();
  REQUIRE(world.groups() == 4);
  world.release();
  world.settle();
  REQUIRE(sizes_of_groups(world) == std::vector<std::uint32_t>{10, 1, 5, 4});
  require_good(world);
}

TEST_CASE("lane: whoever stays away is forgotten") {
  LaneWorld world;
  answer_many_then_hold_one(world, 10);
  world.release();
  world.settle();
  world.hold([&](const SimOp& op) { return world.is_log(op); });
  for (std::uint64_t groups = 3; groups <= 5; ++groups) {
    world.submit_and_pump();
    REQUIRE(world.groups() == groups);
  }
  world.release();
  world.settle();
  require_good(world);
}

TEST_CASE("lane: whoever waits for company waits through a change of the membership, no longer") {
  LaneWorld world;
  answer_many_then_hold_one(world, 10);
  world.submit_and_pump();
  world.lane().pause();
  world.release();
  world.settle();
  REQUIRE(world.groups() == 2);
  REQUIRE(world.answers.size() == 10);
  world.lane().resume();
  world.settle();
  REQUIRE(world.groups() == 3);
  REQUIRE(world.answers.size() == 12);
  require_good(world);
}

TEST_CASE("lane: nobody comes again from a group of buffered commits, or of none") {
  for (const bool empty : {false, true}) {
    CAPTURE(empty);
    LaneWorld world;
    for (int i = 0; i < 10; ++i) REQUIRE(world.submit());
    world.lane().pump();
    world.settle();
    world.hold([&](const SimOp& op) { return world.is_log(op); });
    if (empty) {
      world.start([&] { return world.lane().record_watermark().ok(); });
    } else {
      for (int i = 0; i < 10; ++i) REQUIRE(world.submit({.durability = Durability::kBuffered}));
      world.lane().want_all();
    }
    world.settle();
    const std::uint64_t before = world.groups();
    world.submit_and_pump();
    REQUIRE(world.groups() == before + 1);
    world.release();
    world.settle();
    require_good(world);
  }
}

TEST_CASE("lane: whoever waits for company goes out when the other group is answered") {
  LaneWorld world;
  answer_many_then_hold_one(world, 10);
  for (int i = 0; i < 3; ++i) world.submit_and_pump();
  const auto done = world.start(
      [&] { return world.lane().wait_durable(14, core::LsnWaiters::Until::kAnswered).ok(); });
  world.settle();
  REQUIRE(world.groups() == 2);
  REQUIRE_FALSE(done->has_value());
  REQUIRE(world.submit());
  REQUIRE(world.groups() == 2);
  world.release();
  world.settle();
  REQUIRE(sizes_of_groups(world) == std::vector<std::uint32_t>{10, 1, 4});
  REQUIRE(*done == true);
  // A lone one after that waits for nobody.
  world.hold([&](const SimOp& op) { return world.is_log(op); });
  world.submit_and_pump();
  REQUIRE(world.groups() == 4);
  world.release();
  world.settle();
  require_good(world);
}

TEST_CASE("lane: what more than a commit waits for, and what is large, waits for no company") {
  const std::vector<std::function<void(LaneWorld&)>> kWays = {
      [](LaneWorld& world) { world.lane().want_all(); },
      [](LaneWorld& world) {
        world.lane().hurry(12);
        world.lane().pump();
      },
      [](LaneWorld& world) { world.lane().when_durable(12, [](const Status&) {}); },
      [](LaneWorld& world) { world.start([&] { return world.lane().wait_durable(12).ok(); }); },
      [](LaneWorld& world) { world.start([&] { return world.lane().drain().ok(); }); },
      [](LaneWorld& world) { world.start([&] { return world.lane().wait_in_log(12).ok(); }); },
      [](LaneWorld& world) { world.start([&] { return world.lane().wait_recorded(10).ok(); }); },
      [](LaneWorld& world) {
        world.start([&] { return world.lane().wait_durable_for(12, 60'000'000'000); });
      },
      [](LaneWorld& world) { world.submit_and_pump({.stripe = core::kLargeGroup}); },
  };
  for (std::size_t way = 0; way < kWays.size(); ++way) {
    CAPTURE(way);
    LaneWorld world;
    answer_many_then_hold_one(world, 10);
    world.submit_and_pump();
    REQUIRE(world.groups() == 2);
    kWays[way](world);
    world.settle();
    REQUIRE(world.groups() == 3);
    world.release();
    world.settle();
    require_good(world);
  }
}

TEST_CASE("lane: company is not waited for where the other group is answered early") {
  LaneWorld world({.durability = LogDurability::kFast});
  for (int i = 0; i < 10; ++i) REQUIRE(world.submit());
  world.hold([&](const SimOp& op) { return world.is_log(op) && op.disk != "log"; });
  world.lane().pump();
  // Less than the window in which the other copies may be missing.
  world.system.run([&] { world.system.executor().sleep_for(10'000'000); });
  REQUIRE(world.answers.size() == 10);
  REQUIRE(world.lane().durable() == 0);
  world.submit_and_pump();
  REQUIRE(world.groups() == 2);
  world.release();
  world.settle();
  require_good(world);
}

}  // namespace
}  // namespace hexad::testing
