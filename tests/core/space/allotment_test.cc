#include "core/space/allotment.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace hexad;
using namespace hexad::core;

namespace {

constexpr std::uint32_t kUnits = 41;  // one is the header's
constexpr std::uint32_t kFree = kUnits - 1;

struct World {
  World() : zones(shape.cells()), allotment(shape, zones) {
    std::vector<alloc::ZoneSlot> slots;
    for (std::uint32_t i = 0; i < shape.cells(); ++i) slots.push_back({i, 0});
    REQUIRE(zones.add_zone(1, slots, kUnits).ok());
    REQUIRE(zones.counters().free == kFree);
  }

  StoreShape shape;
  alloc::ZoneSet zones;
  Allotment allotment;
};

}  // namespace

TEST_CASE("allotment: what was promised is free (V1), and is left by all others") {
  World w;
  for (std::uint32_t i = 0; i < kFree; ++i) REQUIRE(w.allotment.try_promise(1));
  CHECK_FALSE(w.allotment.try_promise(1));
  CHECK(w.allotment.allocate(1).status().error().code == ErrorCode::kNoSpace);
  CHECK(w.allotment.allocate_internal(1, 0).status().error().code == ErrorCode::kNoSpace);
  CHECK(w.allotment.allocate_move(1).status().error().code == ErrorCode::kNoSpace);
  CHECK(w.allotment.refusals() == 3);
  CHECK(w.allotment.internal_units() == 0);
  for (std::uint32_t i = 0; i < kFree; ++i) REQUIRE(w.allotment.allocate_promised(1).ok());
  CHECK(w.allotment.promised() == PromisedUnits());
}

TEST_CASE("allotment: the longest run is as long as all that was promised in runs (V2)") {
  World w;
  const alloc::Extent first = w.allotment.allocate(10).value();
  REQUIRE(w.allotment.allocate(15).ok());
  w.zones.discard(first);
  REQUIRE(w.zones.counters().free == 25);
  REQUIRE(w.zones.largest_free_run() == 15);
  CHECK_FALSE(w.allotment.try_promise(16));
  REQUIRE(w.allotment.try_promise(15));
  CHECK_FALSE(w.allotment.try_promise(2));
  REQUIRE(w.allotment.try_promise(1));
  CHECK(w.allotment.runs_beside(w.allotment.kept_units()) == std::vector<std::uint32_t>{9});
  const alloc::Extent cut = w.allotment.allocate(1).value();
  CHECK(cut.unit < first.end());
  CHECK(w.zones.largest_free_run() == 15);
  CHECK_FALSE(w.allotment.allocate(10).ok());
  REQUIRE(w.allotment.allocate_promised(1).ok());
  REQUIRE(w.allotment.allocate_promised(15).ok());
}

TEST_CASE("allotment: users leave the reserve, moves what is not for them, checkpoints nothing") {
  World w;
  w.allotment.set_reserve(10, 4, 3);
  CHECK(w.allotment.kept_units() == 10);
  CHECK(w.allotment.kept_from_moves() == 7);
  CHECK_FALSE(w.allotment.allocate(kFree - 9).ok());
  REQUIRE(w.allotment.allocate(kFree - 10).ok());
  CHECK(w.allotment.reserve_whole(0));
  CHECK_FALSE(w.allotment.allocate(1).ok());
  REQUIRE(w.allotment.allocate_move(3).ok());
  CHECK(w.allotment.reserve_whole(0));
  CHECK_FALSE(w.allotment.allocate_move(1).ok());
  REQUIRE(w.allotment.allocate_internal(3, w.allotment.reserve_run()).ok());
  CHECK_FALSE(w.allotment.reserve_whole(2));
  CHECK(w.allotment.reserve_whole(3));
  CHECK_FALSE(w.allotment.allocate_internal(1, w.allotment.reserve_run()).ok());
  REQUIRE(w.allotment.allocate_internal(4, 0).ok());
  CHECK(w.allotment.internal_units() == 7);
}

TEST_CASE("allotment: a zone is spared while users keep half of the room they have") {
  World w;
  CHECK(w.allotment.can_spare_zone(2 * kFree, kFree));
  CHECK_FALSE(w.allotment.can_spare_zone(2 * kFree + 1, kFree));
  REQUIRE(w.allotment.try_promise(2));
  CHECK_FALSE(w.allotment.can_spare_zone(2 * kFree, kFree));
  CHECK(w.allotment.can_spare_zone(2 * kFree - 2, kFree));
}
