#include "alloc/stripe_births.h"

#include <catch2/catch.hpp>
#include <map>

#include "io/rng.h"

namespace hexad::alloc {
namespace {

TEST_CASE(
    "stripe_births: of a run with several births the first counts, and 0 where one is unknown") {
  StripeBirths births;
  births.set({10, 5}, 7);
  births.set({15, 5}, 4);
  births.set({30, 5}, 9);
  REQUIRE(births.take({12, 6}) == 4);
  REQUIRE(births.take({12, 6}) == 0);  // they have none any more
  REQUIRE(births.take({10, 2}) == 7);  // what lay beside keeps its own
  REQUIRE(births.take({18, 2}) == 4);
  REQUIRE(births.take({28, 4}) == 0);
  REQUIRE(births.take({32, 3}) == 9);
  REQUIRE(births.empty());
  REQUIRE(births.is_whole());
}

TEST_CASE("stripe_births: what has moved is as old as what it was") {
  StripeBirths births;
  births.set({10, 5}, 7);
  births.born_before(10, 3);
  births.born_before(10, 5);  // no younger again
  births.born_before(40, 1);  // nothing is known of it
  REQUIRE(births.by_unit().at(10).lsn == 3);
  REQUIRE(births.is_whole());
  births.forget(2);
  REQUIRE_FALSE(births.empty());
  births.forget(3);
  REQUIRE(births.empty());
}

TEST_CASE("stripe_births: random runs against a birth per unit") {
  constexpr std::uint32_t kUnits = 64;
  io::Rng rng(1);
  StripeBirths births;
  std::map<std::uint32_t, std::uint64_t> model;  // by unit
  for (std::uint64_t lsn = 1; lsn < 3000; ++lsn) {
    const auto unit = static_cast<std::uint32_t>(rng.below(kUnits));
    const auto units = static_cast<std::uint32_t>(1 + rng.below(8));
    std::uint64_t first = ~std::uint64_t{0};
    for (std::uint32_t i = unit; i < unit + units; ++i) {
      const auto at = model.find(i);
      first = at == model.end() ? 0 : std::min(first, at->second);
      if (at != model.end()) model.erase(at);
    }
    REQUIRE(births.take({unit, units}) == first);
    births.set({unit, units}, lsn);
    for (std::uint32_t i = unit; i < unit + units; ++i) model[i] = lsn;
    if (rng.below(10) == 0) {
      const std::uint64_t limit = lsn - std::min<std::uint64_t>(lsn, rng.below(20));
      births.forget(limit);
      std::erase_if(model, [&](const auto& one) { return one.second <= limit; });
    }
    std::uint64_t known = 0;
    for (const auto& [at, birth] : births.by_unit()) {
      known += birth.units;
      for (std::uint32_t i = at; i < at + birth.units; ++i) REQUIRE(model.at(i) == birth.lsn);
    }
    REQUIRE(known == model.size());
    REQUIRE(births.is_whole());
  }
}

}  // namespace
}  // namespace hexad::alloc
