// Up to where everything is durable, as the log and roots record it.
#include <algorithm>
#include <utility>

#include "core/commit/commit_pipeline.h"
#include "tests/core/commit/commit_pipeline_world.h"

namespace hexad::testing {
namespace {

using core::CommitPipeline;
using io::SimOp;

TEST_CASE(
    "commit_pipeline: record_watermark writes an empty block that says what is durable, once") {
  PipelineWorld world;
  CommitPipeline& pipeline = world.pipeline();
  world.submit_and_pump();
  world.settle();
  REQUIRE(pipeline.durable() == 1);
  REQUIRE(pipeline.recorded() == 0);
  for (int i = 0; i < 2; ++i) {
    auto recorded = world.start([&] { return pipeline.record_watermark(); });
    world.settle();
    REQUIRE(recorded->value().ok());
    REQUIRE(pipeline.recorded() == 1);
    REQUIRE(world.log_writes == 6);
  }
  const kv::LogScan scan = world.scan();
  REQUIRE(scan.blocks.size() == 2);
  REQUIRE(scan.blocks[1].header.kind == kv::LogBlockKind::kEmpty);
  REQUIRE(scan.blocks[1].header.watermark == 1);
  // The next transaction follows it.
  world.submit_and_pump();
  world.settle();
  REQUIRE(world.logged() == PipelineWorld::keys_up_to(2));
}

TEST_CASE("commit_pipeline: record_watermark returns when its block is durable") {
  PipelineWorld world;
  world.submit_and_pump();
  world.settle();
  world.hold([&](const SimOp& op) { return world.is_log(op); });
  auto recorded = world.start([&] { return world.pipeline().record_watermark(); });
  world.settle();
  REQUIRE_FALSE(recorded->has_value());
  REQUIRE(world.pipeline().recorded() == 0);
  world.release();
  world.settle();
  REQUIRE(recorded->value().ok());
  REQUIRE(world.pipeline().recorded() == 1);
}

TEST_CASE("commit_pipeline: record_watermark leaves it to a group that is coming, and to a pause") {
  enum class Why { kOpen, kInFlight, kPaused };
  for (const Why why : {Why::kOpen, Why::kInFlight, Why::kPaused}) {
    CAPTURE(static_cast<int>(why));
    PipelineWorld world;
    CommitPipeline& pipeline = world.pipeline();
    world.submit_and_pump();
    world.settle();
    world.hold([&](const SimOp& op) { return world.is_log(op); });
    if (why == Why::kOpen) REQUIRE(world.submit({.durability = Durability::kBuffered}));
    if (why == Why::kInFlight) world.submit_and_pump();
    if (why == Why::kPaused) pipeline.pause();
    world.settle();
    const int before = world.log_writes;
    auto recorded = world.start([&] { return pipeline.record_watermark(); });
    world.settle();
    REQUIRE(recorded->value().ok());
    REQUIRE(world.log_writes == before);
    REQUIRE(pipeline.recorded() == 0);
  }
}

TEST_CASE(
    "commit_pipeline: wait_recorded waits for the block that says what was durable before it") {
  PipelineWorld world;
  CommitPipeline& pipeline = world.pipeline();
  world.submit_and_pump();
  world.settle();
  world.hold([&](const SimOp& op) { return world.is_log(op); });
  // Two callers have one empty block written.
  const auto first = world.start([&] { return pipeline.wait_recorded(1); });
  const auto second = world.start([&] { return pipeline.wait_recorded(1); });
  world.settle();
  REQUIRE_FALSE(first->has_value());
  REQUIRE_FALSE(second->has_value());
  REQUIRE(world.log_writes == 6);
  world.release();
  world.settle();
  REQUIRE(first->value().ok());
  REQUIRE(second->value().ok());
  REQUIRE(world.log_writes == 6);
  REQUIRE(pipeline.recorded() == 1);
  const auto known = world.start([&] { return pipeline.wait_recorded(1); });
  world.settle();
  REQUIRE(known->value().ok());
  REQUIRE(world.log_writes == 6);
}

TEST_CASE("commit_pipeline: wait_recorded takes the block of a group that is to come") {
  PipelineWorld world;
  CommitPipeline& pipeline = world.pipeline();
  world.submit_and_pump();
  world.settle();
  // Nobody else wants it sealed.
  REQUIRE(world.submit({.durability = Durability::kBuffered}));
  const auto open = world.start([&] { return pipeline.wait_recorded(1); });
  world.settle();
  REQUIRE(open->value().ok());
  REQUIRE(pipeline.durable() == 2);
  REQUIRE(world.log_writes == 6);
  // What is in flight was sealed before it was durable itself: one block more.
  world.hold([&](const SimOp& op) { return world.is_log(op); });
  world.submit_and_pump();
  const auto behind = world.start([&] { return pipeline.wait_recorded(2); });
  world.settle();
  REQUIRE_FALSE(behind->has_value());
  world.release();
  world.settle();
  REQUIRE(behind->value().ok());
  REQUIRE(world.log_writes == 9);
  REQUIRE(pipeline.recorded() == 2);
}

TEST_CASE(
    "commit_pipeline: wait_recorded waits for a pause to end, and for a root, and ends with the "
    "pipeline") {
  PipelineWorld world;
  CommitPipeline& pipeline = world.pipeline();
  world.submit_and_pump();
  world.settle();
  pipeline.pause();
  const auto paused = world.start([&] { return pipeline.wait_recorded(1); });
  world.settle();
  REQUIRE_FALSE(paused->has_value());
  REQUIRE(world.log_writes == 3);
  pipeline.note_recorded(1);
  world.settle();
  REQUIRE(paused->value().ok());
  pipeline.resume();
  world.submit_and_pump();
  world.settle();
  pipeline.pause();
  const auto stopped = world.start([&] { return pipeline.wait_recorded(2); });
  world.settle();
  REQUIRE_FALSE(stopped->has_value());
  pipeline.stop(kGone);
  world.settle();
  REQUIRE(stopped->value().error().code == ErrorCode::kIo);
  pipeline.resume();
}

TEST_CASE("commit_pipeline: C3 what a root records counts up to what is durable") {
  PipelineWorld world;
  CommitPipeline& pipeline = world.pipeline();
  world.submit_and_pump();
  world.settle();
  pipeline.note_recorded(9);
  REQUIRE(pipeline.recorded() == 1);
  pipeline.note_recorded(0);
  REQUIRE(pipeline.recorded() == 1);
}

}  // namespace
}  // namespace hexad::testing
