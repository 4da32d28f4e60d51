#include "core/space/unwritten.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace hexad;
using namespace hexad::core;

namespace {

struct World {
  World() {
    std::vector<alloc::ZoneSlot> slots;
    for (std::uint32_t i = 0; i < 6; ++i) slots.push_back({i + 10, 0});
    REQUIRE(zones.add_zone(1, slots, 33).ok());
  }

  alloc::ZoneSet zones{6};
  Unwritten unwritten{zones};
};

}  // namespace

TEST_CASE("unwritten: what is in flight when devices come back counts until it has settled (BK6)") {
  World w;
  const alloc::Extent before = w.zones.allocate(3).value();
  w.unwritten.expect();
  const alloc::Extent after = w.zones.allocate(2).value();
  CHECK(w.unwritten.units_on(10) == 3);
  CHECK(w.unwritten.units_on(16) == 0);
  w.unwritten.settle(after);
  CHECK(w.unwritten.units_on(10) == 3);
  w.unwritten.settle(before);
  CHECK(w.unwritten.units_on(10) == 0);
}

TEST_CASE("unwritten: what is in flight when a number changes hands lacks there (RP4)") {
  World w;
  const alloc::Extent first = w.zones.allocate(1).value();
  w.unwritten.begin_in_place(12);
  CHECK(w.unwritten.is_in_place(12));
  const alloc::Extent second = w.zones.allocate(1).value();
  CHECK(w.unwritten.slots_elsewhere(first) == 1u << 2);
  CHECK(w.unwritten.slots_elsewhere(second) == 0);
  CHECK(w.unwritten.end_in_place(12));
  CHECK_FALSE(w.unwritten.end_in_place(12));
  CHECK_FALSE(w.unwritten.is_in_place(12));
  w.unwritten.note_elsewhere(13);
  CHECK(w.unwritten.slots_elsewhere(first) == (1u << 2 | 1u << 3));
  CHECK(w.unwritten.slots_elsewhere(second) == 1u << 3);
  w.unwritten.settle(first);
  CHECK(w.unwritten.slots_elsewhere(first) == 0);
}

TEST_CASE("unwritten: cells that were filled are counted by device") {
  World w;
  w.unwritten.note_filled(10, 100);
  w.unwritten.note_filled(10, 50);
  CHECK(w.unwritten.filled(10).cells == 2);
  CHECK(w.unwritten.filled(10).bytes == 150);
  CHECK(w.unwritten.filled(11).cells == 0);
}
