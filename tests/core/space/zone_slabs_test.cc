#include "core/space/zone_slabs.h"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "tests/core/space_fixture.h"

using namespace hexad;
using namespace hexad::core;
using namespace hexad::core::testing;

namespace {

struct World {
  World() : members(*f.executor, std::move(f.table.rows)), slabs(f.shape, members) {
    slabs.learn();
  }

  SpaceFixture f{6, 2};
  Members members;
  ZoneSlabs slabs;
};

}  // namespace

TEST_CASE("zone slabs: a zone that is prepared has its slabs until they are given back") {
  World w;
  CHECK(w.slabs.units() == kSlabUnits);
  CHECK(w.slabs.zones_to_come() == 2);
  const ZoneCreation first = w.slabs.prepare().value();
  const ZoneCreation second = w.slabs.prepare().value();
  CHECK(second.zone == first.zone + 1);
  CHECK(w.slabs.is_under_way(second.zone));
  CHECK(w.slabs.zones_to_come() == 2);
  CHECK_FALSE(w.slabs.could_prepare());
  CHECK_FALSE(w.slabs.exhausted());
  CHECK(w.slabs.prepare().status().error().code == ErrorCode::kNoSpace);
  CHECK(w.slabs.exhausted());
  const DeviceId device = second.slots[0].device;
  CHECK(w.slabs.taken(device) == 2);

  w.slabs.end_preparing(first.zone);
  w.slabs.give({});
  CHECK(w.slabs.exhausted());
  w.slabs.end_preparing(second.zone);
  w.slabs.give(second.slots);
  CHECK_FALSE(w.slabs.any_under_way());
  CHECK_FALSE(w.slabs.exhausted());
  CHECK(w.slabs.is_free(second.slots[0]));
  CHECK(w.slabs.taken(device) == 1);
  CHECK(w.slabs.prepare().value().zone == second.zone + 1);
}

TEST_CASE("zone slabs: a zone that is read has slabs that are there and nobody's") {
  World w;
  const ZoneCreation zone = w.slabs.prepare().value();
  CHECK(w.slabs.check(zone).error().code == ErrorCode::kCorruption);
  w.slabs.give(zone.slots);
  CHECK(w.slabs.check(zone).ok());
  ZoneCreation other = zone;
  other.units += 1;
  CHECK_FALSE(w.slabs.check(other).ok());
  other = zone;
  other.slots[0].slab = 2;
  CHECK_FALSE(w.slabs.check(other).ok());
  other.slots[0].device = 99;  // its cells are missing
  CHECK(w.slabs.check(other).ok());
  CHECK_FALSE(w.slabs.has_device(99));
  CHECK_FALSE(w.slabs.is_free(other.slots[0]));

  other = zone;
  other.zone = 40;
  w.slabs.add(other);
  CHECK(w.slabs.prepare().value().zone == 41);
}

TEST_CASE("zone slabs: a device keeps the slabs that are taken") {
  World w;
  const DeviceId device = w.members.at(0).id;
  w.slabs.take({{device, 1}});
  CHECK(w.slabs.needed(device) == 2);
  CHECK(w.slabs.resize(device, 1).error().code == ErrorCode::kNoSpace);
  REQUIRE(w.slabs.resize(device, 5).ok());
  CHECK(w.slabs.total(device) == 5);
  CHECK(w.slabs.free_on(0) == std::vector<std::uint32_t>{0, 2, 3, 4});
}
