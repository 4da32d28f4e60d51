#include "tools/bench/histogram.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <vector>

#include "io/rng.h"

namespace hexad::tools {
namespace {

TEST_CASE("histogram: percentiles are within 1/64 of the exact ones") {
  const std::uint64_t seed = 3;
  CAPTURE(seed);
  io::Rng rng(seed);
  Histogram histogram;
  std::vector<std::uint64_t> values;
  for (int i = 0; i < 20000; ++i) {
    values.push_back(rng.next() >> rng.below(64));
    histogram.add(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const std::uint64_t per_thousand : {1, 10, 500, 900, 950, 990, 999, 1000}) {
    CAPTURE(per_thousand);
    const std::uint64_t exact = values[(values.size() * per_thousand + 999) / 1000 - 1];
    const std::uint64_t found = histogram.percentile(per_thousand, 1000);
    CHECK(found >= exact);
    CHECK(found - exact <= exact / 64);
  }
}

TEST_CASE("histogram: small values are exact and every value has a place") {
  for (std::uint64_t value = 0; value < 128; ++value) {
    Histogram histogram;
    histogram.add(value);
    CHECK(histogram.percentile(1, 2) == value);
  }
  for (unsigned shift = 0; shift < 64; ++shift) {
    for (const std::uint64_t value :
         {(std::uint64_t{1} << shift) - 1, std::uint64_t{1} << shift, ~std::uint64_t{0} >> shift}) {
      CAPTURE(value);
      Histogram histogram;
      histogram.add(value);
      CHECK(histogram.percentile(1, 1) >= value);
      CHECK(histogram.percentile(1, 1) - value <= value / 64);
    }
  }
}

TEST_CASE("histogram: nothing recorded is 0") { CHECK(Histogram().percentile(999, 1000) == 0); }

TEST_CASE("histogram: merging is recording everything in one") {
  Histogram a;
  Histogram b;
  Histogram all;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    (i % 3 == 0 ? a : b).add(i * i);
    all.add(i * i);
  }
  a.merge(b);
  CHECK(a.count() == 1000);
  for (std::uint64_t part = 0; part <= 100; ++part) {
    CHECK(a.percentile(part, 100) == all.percentile(part, 100));
  }
}

}  // namespace
}  // namespace hexad::tools
