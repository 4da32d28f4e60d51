#include "core/transact/attempt.h"

#include "tests/core/commit/commit_pipeline_world.h"

namespace hexad::testing {
namespace {

using core::Attempt;

void give_back(PipelineWorld& world, Attempt& attempt) {
  for (const alloc::Extent& extent : attempt.allocated) world.space->discard(extent);
}

TEST_CASE("attempt: one that finds no space says what there was, its own included") {
  PipelineWorld world;
  const alloc::SpaceCounters before = world.space->counters();
  Attempt attempt;
  while (attempt.allocate(100, *world.space, world.pipeline()).ok()) continue;
  REQUIRE(attempt.no_space);
  REQUIRE(attempt.space_error.code == ErrorCode::kNoSpace);
  REQUIRE(attempt.allocated.size() == before.free / 100);
  REQUIRE(attempt.all_units == before.total);
  REQUIRE(attempt.free_units == before.free);
  REQUIRE_FALSE(attempt.wants_zone);  // no slabs are left
  REQUIRE(attempt.durable == world.pipeline().durable());
  give_back(world, attempt);
}

TEST_CASE("attempt: what others have promised is told from its own") {
  PipelineWorld world;
  REQUIRE(world.space->try_reserve(8));
  Attempt attempt;
  attempt.reserved = core::PromisedUnits(3);
  attempt.note_room(*world.space, world.pipeline());
  REQUIRE(attempt.promised == 5);
  world.space->release(core::PromisedUnits(8));
}

TEST_CASE("attempt: errors that rest on state which others are still writing") {
  REQUIRE(Attempt::depends_on_state(ErrorCode::kNotFound));
  REQUIRE(Attempt::depends_on_state(ErrorCode::kConflict));
  REQUIRE_FALSE(Attempt::depends_on_state(ErrorCode::kIo));
  REQUIRE_FALSE(Attempt::depends_on_state(ErrorCode::kUnavailable));
}

}  // namespace
}  // namespace hexad::testing
