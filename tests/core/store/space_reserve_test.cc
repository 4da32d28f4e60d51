// What the store keeps for itself when users fill it.
#include <catch2/catch.hpp>

#include "core/space/space.h"
#include "tests/core/space_fixture.h"

namespace hexad::core {
namespace {

using namespace testing;

TEST_CASE("space: users leave the reserve alone, checkpoints and packing do not") {
  SpaceFixture f;
  Space& space = f.make();
  f.add_zone();  // 32 units
  space.set_reserve(10);
  REQUIRE(space.reserve_units() == 10);
  REQUIRE(space.reserve_whole());
  CHECK(space.allocate(23).error().message ==
        "no room for 368 KiB: 512 KiB are free, 0 B of them for what is being written, 160 KiB for "
        "checkpoints");
  REQUIRE(space.try_reserve(1));
  REQUIRE_FALSE(space.allocate(22).ok());
  REQUIRE(space.allocate(21).ok());
  REQUIRE_FALSE(space.try_reserve(1));
  // 11 are free, one is promised.
  const alloc::Extent run = space.allocate_internal(8).value();
  REQUIRE_FALSE(space.reserve_whole());
  REQUIRE_FALSE(space.allocate_internal(3).ok());
  REQUIRE(space.allocate_reserved(1).ok());
  REQUIRE(space.allocate_internal(2).ok());
  const Result<alloc::Extent> none = space.allocate_internal(1);
  REQUIRE(none.error().code == ErrorCode::kNoSpace);
  space.publish_internal({&run, 1}, 1);
  REQUIRE(space.free_internal({&run, 1}, 2).ok());
  space.set_reserve(8);
  REQUIRE(space.reserve_whole());  // it comes back soon
  space.reclaim(2);
  REQUIRE(space.allocate_internal(8).ok());
  REQUIRE(space.check_invariants().ok());
}

TEST_CASE("space: the reserve is not counted as room for users when zones are made ahead") {
  SpaceFixture f;
  Space& space = f.make();
  f.add_zone();
  REQUIRE_FALSE(space.wants_zone());
  space.set_reserve(20);
  REQUIRE(space.wants_zone());
  f.add_zone();
  REQUIRE_FALSE(space.wants_zone());
}

TEST_CASE("space: the longest run of the reserve is for the manifest alone") {
  SpaceFixture f;
  Space& space = f.make();
  f.add_zone();
  const alloc::Extent hole = space.allocate(3).value();
  REQUIRE(space.allocate(1).ok());
  space.set_reserve(12, 10);
  REQUIRE(space.allocate(16).ok());
  space.discard(hole);  // free: 3 units, and 12 in one piece
  REQUIRE(space.largest_free_run() == 12);
  // Of the 12 in one piece two can be had.
  REQUIRE(space.allocate(3).value() == hole);
  space.discard(hole);
  REQUIRE_FALSE(space.allocate_internal(4).ok());
  REQUIRE(space.allocate_internal(3).value() == hole);
  REQUIRE(space.allocate_internal(2).ok());
  REQUIRE(space.largest_free_run() == 10);
  REQUIRE_FALSE(space.allocate_internal(1).ok());
  REQUIRE(space.allocate_internal(10, Space::Internal::kManifest).ok());
  REQUIRE(space.counters().free == 0);
  REQUIRE(space.check_invariants().ok());
}

}  // namespace
}  // namespace hexad::core
