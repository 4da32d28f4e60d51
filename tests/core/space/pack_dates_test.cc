#include "core/space/pack_dates.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace hexad;
using namespace hexad::core;

TEST_CASE("pack dates: a stripe is as old as the oldest that is known to be in it") {
  alloc::ZoneSet zones(6);
  std::vector<alloc::ZoneSlot> slots;
  for (std::uint32_t i = 0; i < 6; ++i) slots.push_back({i, 0});
  REQUIRE(zones.add_zone(1, slots, 33).ok());
  const alloc::Extent stripe = zones.allocate(2).value();
  zones.publish_pack(stripe, 9, 500, 77);

  PackDates dates;
  dates.note_written(stripe, 3);  // nobody knows it yet
  dates.note_born(stripe, 9);
  dates.note_born({4, 1, 1}, 9);  // it is gone
  std::vector<PackUse> uses = dates.uses(zones);
  REQUIRE(uses.size() == 1);
  CHECK(uses[0].stripe == stripe);
  CHECK(uses[0].live == 500);
  CHECK(uses[0].footer == 77);
  CHECK(uses[0].born == 9);
  CHECK(uses[0].written == 9);
  dates.note_written(stripe, 5);
  dates.note_written(stripe, 7);
  uses = dates.uses(zones);
  CHECK(uses[0].born == 9);
  CHECK(uses[0].written == 5);

  dates.add_dead(20);
  dates.add_dead(2);
  CHECK(dates.dead() == 22);
}
