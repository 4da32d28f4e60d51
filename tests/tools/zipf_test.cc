#include "tools/bench/zipf.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

namespace hexad::tools {
namespace {

// The share of all draws that goes to the first `count` of `items`, from the law itself.
double exact_share(std::uint64_t count, std::uint64_t items, double theta) {
  double first = 0;
  double all = 0;
  for (std::uint64_t i = 1; i <= items; ++i) {
    all += std::pow(static_cast<double>(i), -theta);
    if (i == count) first = all;
  }
  return first / all;
}

TEST_CASE("zipf: the shares of the most frequent items are those of the law, within 1 %") {
  constexpr std::uint64_t kItems = 10'000;
  constexpr int kDraws = 200'000;
  for (const double theta : {0.2, 0.8, 0.99, 1.0, 1.2, 3.0}) {
    const std::uint64_t seed = 17;
    CAPTURE(theta, seed);
    const Zipf zipf(kItems, theta);
    io::Rng rng(seed);
    std::vector<std::uint64_t> hits(kItems);
    for (int i = 0; i < kDraws; ++i) ++hits.at(zipf.next(rng));
    for (const std::uint64_t count : {1, 2, 10, 500, 2500, 9999}) {
      CAPTURE(count);
      std::uint64_t found = 0;
      for (std::uint64_t i = 0; i < count; ++i) found += hits[i];
      CHECK(static_cast<double>(found) / kDraws ==
            Approx(exact_share(count, kItems, theta)).margin(0.01).epsilon(0));
    }
  }
}

TEST_CASE("zipf: one item is drawn always, and the most items there may be are never left") {
  io::Rng rng(1);
  for (const double theta : {0.01, 1.0, Zipf::kMaxTheta}) {
    CAPTURE(theta);
    const Zipf one(1, theta);
    const Zipf many(Zipf::kMaxItems, theta);
    for (int i = 0; i < 1000; ++i) {
      CHECK(one.next(rng) == 0);
      CHECK(many.next(rng) < Zipf::kMaxItems);
    }
  }
}

TEST_CASE("zipf: a seed repeats the draws") {
  const Zipf zipf(1000, 0.9);
  io::Rng a(4);
  io::Rng b(4);
  for (int i = 0; i < 100; ++i) CHECK(zipf.next(a) == zipf.next(b));
}

TEST_CASE("scatter: every item has one place") {
  for (const std::uint64_t items : {1, 2, 3, 4, 6, 10, 97, 1000, 1024, 30030}) {
    CAPTURE(items);
    const Scatter scatter(items);
    std::vector<bool> taken(items);
    for (std::uint64_t i = 0; i < items; ++i) {
      const std::uint64_t place = scatter(i);
      REQUIRE(place < items);
      REQUIRE_FALSE(taken[place]);
      taken[place] = true;
    }
  }
}

TEST_CASE("scatter: of many items the first ones lie far apart") {
  const Scatter scatter(1'000'000);
  for (std::uint64_t i = 0; i < 10; ++i) {
    for (std::uint64_t j = 0; j < i; ++j) {
      const std::uint64_t a = scatter(i);
      const std::uint64_t b = scatter(j);
      CHECK((a > b ? a - b : b - a) > 10'000);
    }
  }
}

}  // namespace
}  // namespace hexad::tools
