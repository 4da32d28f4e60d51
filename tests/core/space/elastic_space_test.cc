// Contiguity is a preference: pieces of data are refused only where too few units are free.
#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

#include "core/blob/piece_cut.h"
#include "core/space/space.h"
#include "io/rng.h"
#include "tests/core/space_fixture.h"

namespace hexad::core {
namespace {

using namespace testing;

// What is free, in the simplest words: a number.
struct Model {
  std::uint64_t free = 0;
  std::uint64_t promised = 0;
  std::uint64_t reserve = 0;

  std::uint64_t spare() const { return free - std::min(free, promised + reserve); }
};

// As a transaction does it: whole, or cut shorter and shorter. Empty: refused.
std::vector<alloc::Extent> allocate(Space& space, std::uint32_t units) {
  std::vector<alloc::Extent> taken;
  for (std::uint32_t most = units; most > 0;) {
    std::uint32_t left = units;
    while (left > 0) {
      const Result<alloc::Extent> extent = space.allocate(std::min(most, left));
      if (!extent.ok()) break;
      taken.push_back(*extent);
      left -= extent->units;
    }
    if (left == 0) return taken;
    for (const alloc::Extent& extent : taken) space.discard(extent);
    taken.clear();
    const std::uint32_t pieces[] = {std::min(most, units)};
    const std::vector<std::uint32_t> all(units / pieces[0], pieces[0]);
    std::vector<std::uint32_t> stripes = all;
    if (units % pieces[0] > 0) stripes.push_back(units % pieces[0]);
    const std::vector<std::uint32_t> runs = space.spare_runs(1);
    most = choose_cut({stripes, runs, kMostCuts, shortest_cut(units)});
  }
  return taken;
}

TEST_CASE("elastic_space: a piece is refused only where fewer units are free than it takes") {
  const std::uint64_t seed = GENERATE(range(1, 13));
  CAPTURE(seed);
  io::Rng rng(seed);
  SpaceFixture f;
  Space& space = f.make();
  const std::uint32_t zones = 1 + static_cast<std::uint32_t>(rng.below(3));
  for (std::uint32_t i = 0; i < zones; ++i) f.add_zone();
  Model model{std::uint64_t{zones} * (kSlabUnits - 1)};
  std::vector<std::vector<alloc::Extent>> objects;
  std::vector<std::uint32_t> promises;
  Lsn lsn = 0;
  int refused = 0;
  int cut = 0;
  for (int step = 0; step < 600; ++step) {
    CAPTURE(step);
    if (step % 50 == 0) {
      model.reserve = rng.below(model.free / 2 + 1);
      space.set_reserve(model.reserve, static_cast<std::uint32_t>(rng.below(model.reserve + 1)));
    }
    const auto units = static_cast<std::uint32_t>(1 + rng.below(20));
    switch (rng.below(5)) {
      case 0:  // some unplaced blob is promised units, or gives them back
        if (rng.chance(1, 2) && space.try_reserve(units)) {
          model.promised += units;
          promises.push_back(units);
        } else if (!promises.empty()) {
          space.release(PromisedUnits(promises.back()));
          model.promised -= promises.back();
          promises.pop_back();
        }
        break;
      case 1:
      case 2: {  // an object goes, wherever it lies
        if (objects.empty()) break;
        std::swap(objects[rng.below(objects.size())], objects.back());
        LogRecord record;
        record.freed = objects.back();
        objects.pop_back();
        space.publish(++lsn, record);
        space.reclaim(lsn);
        for (const alloc::Extent& extent : record.freed) model.free += extent.units;
        break;
      }
      default: {
        const std::vector<alloc::Extent> taken = allocate(space, units);
        REQUIRE(taken.empty() == (model.spare() < units));
        REQUIRE(taken.size() <= std::max(kMostCuts, units));
        if (taken.empty()) {
          ++refused;
          break;
        }
        if (taken.size() > 1) ++cut;
        LogRecord record;
        for (const alloc::Extent& extent : taken) record.allocated.push_back(proof_of(extent));
        space.publish(++lsn, record);
        objects.push_back(taken);
        model.free -= units;
      }
    }
    REQUIRE(space.counters().free == model.free);
    const std::vector<std::uint32_t> spare = space.spare_runs(1);
    REQUIRE(std::accumulate(spare.begin(), spare.end(), std::uint64_t{0}) == model.spare());
    const std::vector<std::uint32_t> free = space.free_runs();
    REQUIRE(std::accumulate(free.begin(), free.end(), std::uint64_t{0}) == model.free);
    REQUIRE(message(space.check_invariants()) == "");
  }
  REQUIRE(refused > 0);
  REQUIRE(cut > 0);
}

}  // namespace
}  // namespace hexad::core
