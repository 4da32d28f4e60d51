// What a group waits for before it is answered, with each LogDurability.
#include <algorithm>
#include <utility>

#include "core/commit/commit_pipeline.h"
#include "tests/core/commit/commit_pipeline_world.h"

namespace hexad::testing {
namespace {

using core::CommitPipeline;
using core::CounterId;
using io::SimOp;

TEST_CASE(
    "commit_pipeline: kFast answers with the fast copy and is in flight until the others are "
    "there") {
  PipelineWorld world({.durability = LogDurability::kFast});
  CommitPipeline& pipeline = world.pipeline();
  world.hold([&](const SimOp& op) { return world.is_log(op) && op.disk != "log"; });
  bool called = false;
  world.submit_and_pump({.stripe = 64 << 10});
  pipeline.when_durable(1, [&](const Status& status) { called = status.ok(); });
  auto answered =
      world.start([&] { return pipeline.wait_durable(1, core::LsnWaiters::Until::kAnswered); });
  auto everywhere =
      world.start([&] { return pipeline.wait_durable(1, core::LsnWaiters::Until::kDurable); });
  world.settle();
  REQUIRE(world.answered() == up_to(1));
  REQUIRE_FALSE(world.answers[0].code.has_value());
  REQUIRE_FALSE(world.answers[0].published);
  REQUIRE(called);
  REQUIRE(answered->value().ok());
  REQUIRE_FALSE(everywhere->has_value());
  REQUIRE(pipeline.visible() == 1);
  REQUIRE(pipeline.durable() == 0);
  REQUIRE(world.cells.size() == 1);
  // After the window in which the fast device alone may have it, the next commit waits.
  world.submit_and_pump();
  world.settle();
  REQUIRE(world.groups() == 1);
  world.release();
  world.settle();
  REQUIRE(everywhere->value().ok());
  REQUIRE(pipeline.durable() == 2);
  REQUIRE(world.answered() == up_to(2));
  REQUIRE(world.cells.size() == 0);
}

TEST_CASE(
    "commit_pipeline: kFast waits for the copies beside the fast one, where that is no more") {
  for (const bool own_caches : {false, true}) {
    CAPTURE(own_caches);
    PipelineWorld world(
        {.durability = LogDurability::kFast, .volatile_cache = true, .own_caches = own_caches});
    world.submit_and_pump();
    world.settle();
    require_good(world);
    REQUIRE(world.counters.since_open(core::CounterId::kCommitRounds) == (own_caches ? 2u : 1u));
    REQUIRE(world.flushes == (own_caches ? 0 : 1));
  }
}

// They are plain writes of the group, so the flush that covers the fast copy begins behind them.
TEST_CASE("commit_pipeline: kFast counts copies that it waits for as durable when it answers") {
  PipelineWorld world({.durability = LogDurability::kFast, .volatile_cache = true});
  world.hold([&](const SimOp& op) { return world.is_log(op) && op.disk == "dev1"; });
  world.submit_and_pump();
  world.settle();
  REQUIRE(world.answers.empty());
  REQUIRE(world.flushes == 0);
  world.release();
  world.settle();
  require_good(world);
  REQUIRE(world.pipeline().durable() == 1);
}

TEST_CASE("commit_pipeline: kDataFirst writes the log when the cells are durable") {
  PipelineWorld world({.durability = LogDurability::kDataFirst});
  world.hold([&](const SimOp& op) { return world.is_cell(op) && op.disk == "dev5"; });
  world.submit_and_pump({.stripe = 64 << 10});
  world.settle();
  REQUIRE(world.cell_writes == 6);
  REQUIRE(world.log_writes == 0);
  world.release();
  world.settle();
  REQUIRE(world.log_writes == 3);
  REQUIRE(world.answered() == up_to(1));
  require_good(world);
}

TEST_CASE("commit_pipeline: C7 beyond 64 MiB of cells that nobody has proved, cells go first") {
  PipelineWorld world({.slab_units = 4096});
  world.hold([&](const SimOp& op) { return world.is_cell(op); });
  // 36 MiB of cells each.
  world.submit_and_pump({.stripe = 1 << 20, .stripes = 24});
  REQUIRE(world.log_writes == 3);
  world.submit_and_pump({.stripe = 1 << 20, .stripes = 24});
  world.settle();
  REQUIRE(world.cell_writes == 2 * 24 * 6);
  REQUIRE(world.log_writes == 3);
  world.release();
  world.settle();
  REQUIRE(world.log_writes == 6);
  REQUIRE(world.answered() == up_to(2));
  require_good(world);
  // And what was counted is given back.
  world.submit_and_pump({.stripe = 1 << 20, .stripes = 8});
  REQUIRE(world.log_writes == 9);
}

}  // namespace
}  // namespace hexad::testing
