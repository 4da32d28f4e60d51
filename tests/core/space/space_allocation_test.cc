// Units for stripes: who is promised what, and what others leave.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "core/space/space.h"
#include "io/rng.h"
#include "tests/core/space_fixture.h"

namespace hexad::core {
namespace {

using namespace testing;

// Each unit of which is taken on its own.
std::vector<alloc::Extent> fill_two_zones(SpaceFixture& f) {
  f.add_zone();
  f.add_zone();
  std::vector<alloc::Extent> taken;
  for (int i = 0; i < 64; ++i) taken.push_back(f.space->allocate(1).value());
  return taken;
}

TEST_CASE("space: allocating leaves what is reserved, and says so") {
  SpaceFixture f;
  Space& space = f.make();
  f.add_zone();  // 32 units
  REQUIRE(space.try_reserve(1));
  REQUIRE(space.try_reserve(1));
  REQUIRE(space.reserved() == 2);
  const Result<alloc::Extent> all = space.allocate(32);
  REQUIRE(all.error().code == ErrorCode::kNoSpace);
  CHECK(all.error().message ==
        "no room for 512 KiB: 512 KiB are free, 32 KiB of them for what is being written");
  REQUIRE(space.allocate(30).ok());
  REQUIRE_FALSE(space.allocate(1).ok());
  for (int i = 0; i < 2; ++i) {
    REQUIRE(space.allocate_reserved(1).ok());
  }
  REQUIRE(space.reserved() == 0);
  REQUIRE(space.counters().free == 0);
  REQUIRE_FALSE(space.try_reserve(1));
}

// Moves write stripes that are full where they find long runs, and single units cut these up.
TEST_CASE("space: where little is left single units take the shortest runs") {
  SpaceFixture f;
  Space& space = f.make();
  const std::vector<alloc::Extent> taken = fill_two_zones(f);
  for (int i = 0; i < 8; ++i) space.discard(taken[i]);  // a run
  space.discard(taken[20]);
  space.set_reserve(8);
  const std::uint64_t refusals = space.refusals();
  const alloc::Extent alone = space.allocate(1).value();
  CHECK(alone == taken[20]);
  CHECK(space.largest_free_run() == 8);
  CHECK(space.refusals() == refusals);
  REQUIRE_FALSE(space.allocate(1).ok());
  CHECK(space.refusals() == refusals + 1);
  space.discard(alone);
  space.set_reserve(0, 0, 0);
  REQUIRE(space.try_reserve(1));
  space.reserve(PromisedUnits(7));
  CHECK(space.allocate_reserved(1).value() == taken[20]);
}

// A commit of more small objects than half a slab has units, and then of a large one, was refused
// on an empty pool: each small one wanted two units of the longest free run.
TEST_CASE("space: single units are promised from all zones, and leave runs to the others") {
  SpaceFixture f;
  Space& space = f.make();
  f.add_zone();
  f.add_zone();  // 64 units
  for (int i = 0; i < 48; ++i) REQUIRE(space.try_reserve(1));
  const alloc::Extent large = space.allocate(16).value();
  REQUIRE_FALSE(space.allocate(1).ok());
  for (int i = 0; i < 48; ++i) REQUIRE(space.allocate_reserved(1).ok());
  REQUIRE(space.counters().free == 0);
  space.discard(large);
  REQUIRE(space.check_invariants().ok());
}

TEST_CASE("space: a run that was promised is left to whom it was promised") {
  SpaceFixture f;
  Space& space = f.make();
  f.add_zone();
  f.add_zone();  // two runs of 32
  REQUIRE(space.try_reserve(20));
  REQUIRE_FALSE(space.try_reserve(20));  // there is one run that long, and it is promised
  REQUIRE(space.allocate(32).ok());
  const Result<alloc::Extent> other = space.allocate(13);
  CHECK(other.error().message ==
        "no room for 208 KiB: 512 KiB are free, 320 KiB of them for what is being written");
  REQUIRE(space.allocate(12).ok());
  // Single units that are promised besides come from elsewhere.
  REQUIRE_FALSE(space.try_reserve(1));
  REQUIRE(space.allocate_reserved(20).value().units == 20);
  REQUIRE(space.reserved() == 0);
}

TEST_CASE("space: several blobs share a run only where each of the others still gets its own") {
  SpaceFixture f;
  Space& space = f.make();
  // Free: 12 in a row, and 8 single units.
  const std::vector<alloc::Extent> taken = fill_two_zones(f);
  std::size_t singles = 0;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const bool in_row = taken[i].zone == taken[0].zone && taken[i].unit <= 12;
    const bool alone = taken[i].zone != taken[0].zone && taken[i].unit % 4 == 1 && singles < 8;
    if (in_row || alone) space.discard(taken[i]);
    singles += alone ? 1 : 0;
  }
  REQUIRE(space.counters().free == 20);
  REQUIRE(space.largest_free_run() == 12);
  PromisedUnits small;
  for (int i = 0; i < 8; ++i) {
    REQUIRE(space.try_reserve(1));
    small += PromisedUnits(1);
  }
  REQUIRE(space.try_reserve(10));
  REQUIRE(space.allocate_shared(8, small).error().code == ErrorCode::kNoSpace);
  REQUIRE(space.reserved() == 18);
  REQUIRE(space.allocate_shared(2, small).ok());  // what is left of the run is enough
  REQUIRE(space.reserved() == 10);
  REQUIRE(space.allocate_reserved(10).ok());
  REQUIRE(space.check_invariants().ok());
}

TEST_CASE("space: moves are told of the runs that they would get, and get them") {
  SpaceFixture f;
  Space& space = f.make();
  // Free: runs of 12, 5, 3, 3, 1 and 1.
  std::vector<alloc::Extent> taken = fill_two_zones(f);
  std::sort(taken.begin(), taken.end(), [](const alloc::Extent& a, const alloc::Extent& b) {
    return a.zone != b.zone ? a.zone < b.zone : a.unit < b.unit;
  });
  const auto free_up = [&](std::size_t from, std::size_t count) {
    for (std::size_t i = from; i < from + count; ++i) space.discard(taken[i]);
  };
  free_up(0, 12);
  free_up(14, 3);
  free_up(20, 3);
  free_up(32, 5);
  free_up(40, 1);
  free_up(50, 1);
  using Runs = std::vector<std::uint32_t>;
  CHECK(space.move_runs() == Runs{12, 5, 3, 3, 1, 1});
  // Of the reserve, 14 are for moves, and the longest run is left to a manifest of two.
  space.set_reserve(20, 2, 14);
  CHECK(space.move_runs() == Runs{10, 5, 3, 1});
  std::vector<alloc::Extent> moved;
  for (const std::uint32_t run : space.move_runs()) {
    moved.push_back(space.allocate_move(run).value());
  }
  CHECK(space.move_runs().empty());
  CHECK(space.counters().free == 6);
  CHECK(space.largest_free_run() >= 2);
  for (const alloc::Extent& extent : moved) space.discard(extent);
  // What is promised is nobody's.
  REQUIRE(space.check_invariants().ok());
  space.set_reserve(0);
  for (int i = 0; i < 20; ++i) REQUIRE(space.try_reserve(1));
  CHECK(space.move_runs() == Runs{5});
}

TEST_CASE("space: V3 what a failed write may still reach is not used before its device has left") {
  SpaceFixture f;
  Space& space = f.make();
  f.add_zone();  // 32 units
  const alloc::Extent first = space.allocate(8).value();
  const alloc::Extent second = space.allocate_internal(8).value();
  space.suspect({2});
  REQUIRE(space.suspects() == std::set<DeviceId>{2});
  space.discard(first);
  space.discard_internal(second);
  REQUIRE(space.room().internal == 0);
  REQUIRE(space.counters().free == 16);
  space.free_kept_back();  // some other change of membership
  REQUIRE(space.counters().free == 16);
  const ZoneCreation zone = space.prepare_zone(Zeroing::kNone).value();
  space.release_zone(zone);
  REQUIRE(space.prepare_zone(Zeroing::kNone)->slots != zone.slots);

  f.members->mark_failed(2, "told to");
  REQUIRE(space.suspects().empty());
  space.free_kept_back();
  REQUIRE(space.counters().free == 32);
  const alloc::Extent again = space.allocate(8).value();
  space.discard(again);
  REQUIRE(space.counters().free == 32);
  REQUIRE(space.check_invariants().ok());
}

TEST_CASE("space: whatever is allocated and freed meanwhile, what is reserved can be had") {
  const std::uint64_t seed = GENERATE(range(1, 25));
  CAPTURE(seed);
  io::Rng rng(seed);
  SpaceFixture f;
  Space& space = f.make();
  f.add_zone();
  f.add_zone();
  std::vector<std::uint32_t> promised;
  std::vector<alloc::Extent> held;
  int redeemed = 0;
  for (int step = 0; step < 600; ++step) {
    CAPTURE(step);
    switch (rng.below(4)) {
      case 0: {
        const auto units = static_cast<std::uint32_t>(1 + rng.below(3));
        if (space.try_reserve(units)) promised.push_back(units);
        break;
      }
      case 1: {
        const Result<alloc::Extent> extent =
            space.allocate(static_cast<std::uint32_t>(1 + rng.below(6)));
        if (extent.ok()) held.push_back(*extent);
        break;
      }
      case 2: {
        if (promised.empty()) break;
        const std::size_t which = rng.below(promised.size());
        const std::uint32_t units = promised[which];
        promised.erase(promised.begin() + static_cast<std::ptrdiff_t>(which));
        const Result<alloc::Extent> extent = space.allocate_reserved(units);
        REQUIRE(extent.ok());
        held.push_back(*extent);
        ++redeemed;
        break;
      }
      default: {
        if (held.empty()) break;
        const std::size_t which = rng.below(held.size());
        space.discard(held[which]);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
        break;
      }
    }
    REQUIRE(space.check_invariants().ok());
  }
  REQUIRE(redeemed > 20);
}

}  // namespace
}  // namespace hexad::core
