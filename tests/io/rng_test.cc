#include "io/rng.h"

#include <catch2/catch.hpp>
#include <set>

using namespace hexad;
using io::Rng;

TEST_CASE("rng: a seed gives the same sequence on every machine") {
  // xoshiro256** seeded by splitmix64 from 0, as the authors' reference code prints it.
  Rng rng(0);
  REQUIRE(rng.next() == 0x99ec5f36cb75f2b4);
  REQUIRE(rng.next() == 0xbf6e1f784956452a);
  REQUIRE(rng.next() == 0x1a5f849d4933e6e0);
  Rng first(7);
  Rng second(7);
  for (int i = 0; i < 1000; ++i) REQUIRE(first.next() == second.next());
}

TEST_CASE("rng: below stays below its bound and reaches every value") {
  Rng rng(1);
  for (const std::uint64_t bound : {1, 2, 3, 7, 64}) {
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t value = rng.below(bound);
      REQUIRE(value < bound);
      seen.insert(value);
    }
    REQUIRE(seen.size() == bound);
  }
  for (int i = 0; i < 100; ++i) REQUIRE(rng.below(~0ull) < ~0ull);
}

TEST_CASE("rng: below is even within what chance allows") {
  Rng rng(2);
  int count[3] = {};
  for (int i = 0; i < 30000; ++i) ++count[rng.below(3)];
  for (const int each : count) REQUIRE(std::abs(each - 10000) < 400);
}

TEST_CASE("rng: chances of nought and one are certain") {
  Rng rng(3);
  int hits = 0;
  for (int i = 0; i < 10000; ++i) {
    REQUIRE_FALSE(rng.chance(0, 5));
    REQUIRE(rng.chance(5, 5));
    hits += rng.chance(1, 4) ? 1 : 0;
  }
  REQUIRE(std::abs(hits - 2500) < 250);
}

TEST_CASE("rng: a UUID says that it is random") {
  Rng rng = Rng::from_entropy();
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const std::string text = to_string(rng.uuid());
    REQUIRE(text[14] == '4');
    REQUIRE(std::string("89ab").find(text[19]) != std::string::npos);
    REQUIRE(seen.insert(text).second);
  }
}
