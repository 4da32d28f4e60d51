#include "core/commit/commit_positions.h"

#include <catch2/catch.hpp>

namespace hexad::core {
namespace {

TEST_CASE("commit_positions: a store that is opened has everything durable, and recorded") {
  const CommitPositions positions(8);
  REQUIRE(positions.last() == 7);
  REQUIRE(positions.durable() == 7);
  REQUIRE(positions.answered() == 7);
  REQUIRE(positions.recorded() == 7);
  REQUIRE(positions.visible() == 7);
}

TEST_CASE("commit_positions: what is answered is visible, and visible never goes back") {  // C6
  CommitPositions positions(1);
  for (int i = 0; i < 5; ++i) positions.advance_next();
  positions.raise_answered(2);
  REQUIRE(positions.visible() == 2);
  positions.raise_visible(4);  // a buffered commit
  positions.raise_answered(3);
  REQUIRE(positions.visible() == 4);
  REQUIRE(positions.answered() == 3);
  positions.raise_visible(1);
  positions.raise_answered(1);  // an empty block, whose LSN is an older one
  REQUIRE(positions.visible() == 4);
  REQUIRE(positions.answered() == 3);
  REQUIRE(positions.durable() == 0);
}

TEST_CASE("commit_positions: a root records no more than what is durable") {  // C3
  CommitPositions positions(1);
  for (int i = 0; i < 5; ++i) positions.advance_next();
  positions.raise_durable(3);
  positions.raise_recorded(2);
  REQUIRE(positions.recorded() == 2);
  positions.note_recorded(5);
  REQUIRE(positions.recorded() == 3);
  positions.note_recorded(1);
  positions.raise_recorded(1);
  positions.raise_durable(2);
  REQUIRE(positions.recorded() == 3);
  REQUIRE(positions.durable() == 3);
}

}  // namespace
}  // namespace hexad::core
