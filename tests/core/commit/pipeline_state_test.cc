#include "core/commit/pipeline_state.h"

#include <catch2/catch.hpp>

namespace hexad::core {
namespace {

const Error kGone{ErrorCode::kIo, "the devices are gone", ""};

TEST_CASE("pipeline_state: pauses add up") {
  PipelineState state;
  REQUIRE(state.is_going());
  state.pause();
  state.pause();
  state.resume();
  REQUIRE_FALSE(state.is_going());
  state.resume();
  REQUIRE(state.is_going());
}

TEST_CASE("pipeline_state: one failure of a pause asks for a repair") {
  PipelineState state;
  state.pause();  // somebody else's
  REQUIRE(state.pause_for_repair());
  REQUIRE_FALSE(state.pause_for_repair());
  state.repaired();
  state.resume();
  REQUIRE(state.is_paused());
  REQUIRE(state.pause_for_repair());  // the next failure asks again
  state.repaired();
  state.resume();
  state.resume();
  REQUIRE(state.is_going());
}

TEST_CASE("pipeline_state: after the end nothing goes on, and nobody repairs") {
  PipelineState state;
  REQUIRE_FALSE(state.has_stopped());
  state.stop(kGone);
  REQUIRE(state.has_stopped());
  REQUIRE(state.stopped()->code == ErrorCode::kIo);
  REQUIRE_FALSE(state.is_going());
  REQUIRE_FALSE(state.pause_for_repair());
  REQUIRE_FALSE(state.is_paused());
}

}  // namespace
}  // namespace hexad::core
