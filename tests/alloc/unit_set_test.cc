#include "alloc/unit_set.h"

#include <catch2/catch.hpp>

#include "io/rng.h"

using namespace hexad;
using namespace hexad::alloc;

TEST_CASE("unit_set: random inserts and erases match a set of single units") {
  const std::uint64_t seed = GENERATE(1, 2, 3, 4);
  CAPTURE(seed);
  io::Rng rng(seed);
  constexpr std::uint32_t kUnits = 60;
  UnitSet set;
  std::vector<bool> model(kUnits);
  for (int step = 0; step < 3000; ++step) {
    const auto first = static_cast<std::uint32_t>(rng.below(kUnits));
    const UnitRun run{first, static_cast<std::uint32_t>(rng.below(kUnits - first + 1))};
    const bool add = rng.chance(1, 2);
    if (add) {
      set.insert(run);
    } else {
      set.erase(run);
    }
    for (std::uint32_t u = run.unit; u < run.end(); ++u) model[u] = add;

    std::vector<UnitRun> expected;
    std::uint64_t units = 0;
    for (std::uint32_t u = 0; u < kUnits; ++u) {
      if (!model[u]) continue;
      ++units;
      if (u > 0 && model[u - 1]) {
        ++expected.back().units;
      } else {
        expected.push_back({u, 1});
      }
    }
    REQUIRE(set.runs() == expected);
    REQUIRE(set.units() == units);
    REQUIRE(set.empty() == (units == 0));

    const auto from = static_cast<std::uint32_t>(rng.below(kUnits));
    const UnitRun window{from, static_cast<std::uint32_t>(rng.below(kUnits - from + 1))};
    std::vector<bool> seen(kUnits);
    for (const UnitRun& part : set.overlap(window)) {
      REQUIRE(part.units > 0);
      for (std::uint32_t u = part.unit; u < part.end(); ++u) seen[u] = true;
    }
    for (std::uint32_t u = 0; u < kUnits; ++u) {
      REQUIRE(seen[u] == (model[u] && u >= window.unit && u < window.end()));
    }
    REQUIRE(set.intersects(window) == !set.overlap(window).empty());
  }
}

TEST_CASE("unit_set: the last unit of all can be a member") {
  UnitSet set;
  set.insert({0xffffffff, 1});
  set.insert({0xfffffffe, 1});
  CHECK(set.runs() == std::vector<UnitRun>{{0xfffffffe, 2}});
  set.erase({0, 0xffffffff});
  CHECK(set.runs() == std::vector<UnitRun>{{0xffffffff, 1}});
}
