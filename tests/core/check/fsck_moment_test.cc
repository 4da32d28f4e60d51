#include "core/check/fsck_moment.h"

#include <catch2/catch.hpp>
#include <optional>

#include "tests/core/space_world.h"

namespace hexad::core {
namespace {

alloc::Extent take(testing::SpaceWorld& world, Lsn lsn, std::uint32_t units) {
  const alloc::Extent where = world.space->allocate(units).value();
  LogRecord record;
  record.allocated.push_back({where, 4096, false, {}, 0});
  world.space->publish(lsn, record);
  return where;
}

TEST_CASE("fsck_moment: what is live is so across stripes that touch, and nothing else is") {
  testing::SpaceWorld world;
  const alloc::Extent first = take(world, 1, 3);
  const alloc::Extent second = take(world, 2, 4);
  REQUIRE(second.unit == first.end());
  const FsckMoment moment(*world.space, world.log_blobs);
  REQUIRE(moment.zones().size() == 1);
  REQUIRE(moment.zones().begin()->second.live.size() == 1);
  for (std::uint32_t unit = first.unit; unit <= second.end(); ++unit) {
    for (std::uint32_t units = 1; units <= 8; ++units) {
      CAPTURE(unit, units);
      CHECK(moment.is_live({first.zone, unit, units}) == (unit + units <= second.end()));
    }
  }
  if (first.unit > 0) CHECK_FALSE(moment.is_live({first.zone, first.unit - 1, 2}));
  CHECK_FALSE(moment.is_live({first.zone + 1, first.unit, 1}));
}

TEST_CASE("fsck_moment: what is freed or taken behind it changes nothing") {
  testing::SpaceWorld world;
  const alloc::Extent freed = take(world, 1, 3);
  const FsckMoment moment(*world.space, world.log_blobs);
  LogRecord record;
  record.freed.push_back(freed);
  world.space->publish(2, record);
  const alloc::Extent taken = take(world, 3, 2);
  REQUIRE_FALSE(world.space->is_live(freed));
  CHECK(moment.is_live(freed));
  CHECK_FALSE(moment.is_live(taken));
}

TEST_CASE("fsck_moment: a payload stays one, wherever it is put later") {
  testing::SpaceWorld world;
  UnplacedBlob unplaced;
  unplaced.place = {9, 3};
  unplaced.stored = SharedBytes::copy_of(as_bytes("in the log"));
  world.log_blobs.add_payload(unplaced);
  const FsckMoment moment(*world.space, world.log_blobs);
  UnplacedPlace place;
  place.from = unplaced.place;
  place.stored = 10;
  world.log_blobs.set_places({place});
  CHECK(moment.was_payload({9, 3}));
  CHECK_FALSE(moment.was_payload({9, 2}));
  CHECK_FALSE(moment.was_payload({8, 3}));
  const FsckMoment later(*world.space, world.log_blobs);
  CHECK_FALSE(later.was_payload({9, 3}));
}

}  // namespace
}  // namespace hexad::core
