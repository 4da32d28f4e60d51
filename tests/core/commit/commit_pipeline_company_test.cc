// C14: which groups wait for company, and for how long.
#include <functional>
#include <vector>

#include "core/commit/commit_pipeline.h"
#include "tests/core/commit/commit_pipeline_world.h"

namespace hexad::testing {
namespace {

using io::SimOp;

// A group of `size`, answered, and then one of a single commit of which the log is held back.
void answer_many_then_hold_one(PipelineWorld& world, int size) {
  for (int i = 0; i < size; ++i) REQUIRE(world.submit());
  world.pipeline().pump();
  world.settle();
  REQUIRE(world.groups() == 1);
  REQUIRE(world.answers.size() == static_cast<std::size_t>(size));
  world.hold([&](const SimOp& op) { return world.is_log(op); });
  world.submit_and_pump();
  world.settle();
  REQUIRE(world.groups() == 2);
}

std::vector<std::uint32_t> sizes_of_groups(const PipelineWorld& world) {
  std::vector<std::uint32_t> sizes;
  for (const kv::ScannedBlock& block : world.scan().blocks) {
    sizes.push_back(block.header.record_count);
  }
  return sizes;
}

TEST_CASE(
    "commit_pipeline: beside another group one waits until it has half of all callers, or they are "
    "all back") {
  PipelineWorld world;
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

TEST_CASE("commit_pipeline: whoever stays away is forgotten") {
  PipelineWorld world;
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

TEST_CASE(
    "commit_pipeline: whoever waits for company waits through a change of the membership, no "
    "longer") {
  PipelineWorld world;
  answer_many_then_hold_one(world, 10);
  world.submit_and_pump();
  world.pipeline().pause();
  world.release();
  world.settle();
  REQUIRE(world.groups() == 2);
  REQUIRE(world.answers.size() == 10);
  world.pipeline().resume();
  world.settle();
  REQUIRE(world.groups() == 3);
  REQUIRE(world.answers.size() == 12);
  require_good(world);
}

TEST_CASE("commit_pipeline: nobody comes again from a group of buffered commits, or of none") {
  for (const bool empty : {false, true}) {
    CAPTURE(empty);
    PipelineWorld world;
    for (int i = 0; i < 10; ++i) REQUIRE(world.submit());
    world.pipeline().pump();
    world.settle();
    world.hold([&](const SimOp& op) { return world.is_log(op); });
    if (empty) {
      world.start([&] { return world.pipeline().record_watermark().ok(); });
    } else {
      for (int i = 0; i < 10; ++i) REQUIRE(world.submit({.durability = Durability::kBuffered}));
      world.pipeline().request_durable();
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

TEST_CASE("commit_pipeline: whoever waits for company goes out when the other group is answered") {
  PipelineWorld world;
  answer_many_then_hold_one(world, 10);
  for (int i = 0; i < 3; ++i) world.submit_and_pump();
  const auto done = world.start(
      [&] { return world.pipeline().wait_durable(14, core::LsnWaiters::Until::kAnswered).ok(); });
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

TEST_CASE(
    "commit_pipeline: what more than a commit waits for, and what is large, waits for no company") {
  const std::vector<std::function<void(PipelineWorld&)>> kWays = {
      [](PipelineWorld& world) { world.pipeline().request_durable(); },
      [](PipelineWorld& world) {
        world.pipeline().hurry(12);
        world.pipeline().pump();
      },
      [](PipelineWorld& world) { world.pipeline().when_durable(12, [](const Status&) {}); },
      [](PipelineWorld& world) {
        world.start([&] { return world.pipeline().wait_durable(12).ok(); });
      },
      [](PipelineWorld& world) { world.start([&] { return world.pipeline().drain().ok(); }); },
      [](PipelineWorld& world) {
        world.start([&] { return world.pipeline().wait_in_log(12).ok(); });
      },
      [](PipelineWorld& world) {
        world.start([&] { return world.pipeline().wait_recorded(10).ok(); });
      },
      [](PipelineWorld& world) {
        world.start([&] { return world.pipeline().wait_durable_for(12, 60'000'000'000); });
      },
      [](PipelineWorld& world) { world.submit_and_pump({.stripe = core::kLargeGroup}); },
  };
  for (std::size_t way = 0; way < kWays.size(); ++way) {
    CAPTURE(way);
    PipelineWorld world;
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

TEST_CASE("commit_pipeline: company is not waited for where the other group is answered early") {
  PipelineWorld world({.durability = LogDurability::kFast});
  for (int i = 0; i < 10; ++i) REQUIRE(world.submit());
  world.hold([&](const SimOp& op) { return world.is_log(op) && op.disk != "log"; });
  world.pipeline().pump();
  // Less than the window in which the other copies may be missing.
  world.system.run([&] { world.system.executor().sleep_for(10'000'000); });
  REQUIRE(world.answers.size() == 10);
  REQUIRE(world.pipeline().durable() == 0);
  world.submit_and_pump();
  REQUIRE(world.groups() == 2);
  world.release();
  world.settle();
  require_good(world);
}

}  // namespace
}  // namespace hexad::testing
