#include "core/check/stripe_walk.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tests/core/space_world.h"

namespace hexad::core {
namespace {

constexpr std::uint64_t kLive = 100;  // bytes

alloc::Extent take(testing::SpaceWorld& world, Lsn lsn, std::uint32_t units, std::uint64_t live) {
  const alloc::Extent where = world.space->allocate(units).value();
  LogRecord record;
  record.allocated.push_back({where, 4096, false, {}, live});
  world.space->publish(lsn, record);
  return where;
}

std::vector<alloc::Extent> walk(Space& space, StripeWalk::From from) {
  std::vector<alloc::Extent> found;
  StripeWalk walk(space, from);
  while (const std::optional<StripeWalk::Stripe> stripe = walk.next()) {
    CHECK(stripe->live == kLive);
    found.push_back(stripe->where);
  }
  CHECK_FALSE(walk.next().has_value());
  return found;
}

TEST_CASE("stripe_walk: pack stripes of all zones in their order, and no others") {
  testing::SpaceWorld world(64);
  std::vector<alloc::Extent> packs;
  Lsn lsn = 0;
  for (int zones = 1; zones <= 3; ++zones) {
    for (int i = 0; i < 2; ++i) {
      packs.push_back(take(world, ++lsn, 2, kLive));
      take(world, ++lsn, 3, 0);
    }
    // What follows lies in a zone of its own, since this one has no room any more.
    while (world.space->counters().free > 0) take(world, ++lsn, 1, 0);
    const ZoneCreation zone = world.space->prepare_zone(Space::Zeroing::kNone).value();
    REQUIRE(world.space->add_zone(zone).ok());
    world.space->open_zone(zone.zone);
  }
  std::sort(packs.begin(), packs.end(), [](const alloc::Extent& a, const alloc::Extent& b) {
    return std::pair(a.zone, a.unit) < std::pair(b.zone, b.unit);
  });
  REQUIRE(packs.front().zone != packs.back().zone);
  CHECK(walk(*world.space, {}) == packs);
  for (std::size_t i = 0; i < packs.size(); ++i) {
    CAPTURE(i);
    const std::vector<alloc::Extent> rest(packs.begin() + static_cast<std::ptrdiff_t>(i),
                                          packs.end());
    CHECK(walk(*world.space, {packs[i].zone, packs[i].unit}) == rest);
    const std::vector<alloc::Extent> behind(rest.begin() + 1, rest.end());
    CHECK(walk(*world.space, {packs[i].zone, packs[i].unit + 1}) == behind);
  }
  CHECK(walk(*world.space, {packs.back().zone + 5, 0}).empty());
}

TEST_CASE("stripe_walk: a store without pack stripes has nothing to walk over") {
  testing::SpaceWorld world;
  CHECK(walk(*world.space, {}).empty());
  take(world, 1, 2, 0);
  CHECK(walk(*world.space, {}).empty());
}

}  // namespace
}  // namespace hexad::core
