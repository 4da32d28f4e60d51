#include "core/blob/piece_cut.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

#include "base/units.h"
#include "io/rng.h"

namespace hexad::core {
namespace {

using Units = std::vector<std::uint32_t>;

std::uint32_t cut(const Units& pieces, const Units& runs, std::uint32_t most = 1'000'000,
                  std::uint32_t shortest = 1) {
  return choose_cut({pieces, runs, most, shortest});
}

// What the pieces become.
Units stripes_of(const Units& pieces, std::uint32_t cut) {
  Units stripes;
  for (std::uint32_t units : pieces) {
    for (; units > cut; units -= cut) stripes.push_back(cut);
    stripes.push_back(units);
  }
  return stripes;
}

// Takes the runs one by one, as an allocator would that knows no better.
bool fit(Units stripes, Units runs) {
  std::sort(stripes.rbegin(), stripes.rend());
  for (const std::uint32_t stripe : stripes) {
    const auto run =
        std::find_if(runs.begin(), runs.end(), [&](std::uint32_t r) { return r >= stripe; });
    if (run == runs.end()) return false;
    *run -= stripe;
  }
  return true;
}

std::uint64_t sum(const Units& units) {
  return std::accumulate(units.begin(), units.end(), std::uint64_t{0});
}

}  // namespace

TEST_CASE("piece_cut: 1 MiB goes into the gaps that removed objects of 64 KiB have left") {
  CHECK(cut({64}, Units(16, 4)) == 4);
  CHECK(cut({64}, Units(15, 4)) == 0);
  CHECK(cut({64, 64}, Units(32, 4)) == 4);
  CHECK(cut({64}, {33, 32}) == 32);
}

TEST_CASE("piece_cut: runs of all lengths are taken in the longest power of two that they hold") {
  CHECK(cut({16}, {15, 1}) == 1);
  CHECK(cut({16}, {7, 9}) == 1);
  CHECK(cut({16}, {8, 9}) == 8);
  CHECK(cut({16}, {7, 9, 4}) == 4);
  CHECK(cut({16}, {12, 4, 8}) == 8);
  CHECK(cut({2}, {1, 1}) == 1);
}

TEST_CASE("piece_cut: a page of many units is cut into 64 stripes at most") {
  CHECK(shortest_cut(64) == 1);
  CHECK(shortest_cut(65) == 2);
  CHECK(shortest_cut(512) == 8);
  CHECK(cut({512}, Units(64, 8)) == 8);
  CHECK(cut({512}, Units(1000, 7)) == 0);
  // A part of it that was cut before is not cut further than the page would be.
  CHECK(cut({16}, Units(16, 1), 1000, 8) == 0);
}

TEST_CASE("piece_cut: a transaction has so many stripes and no more") {
  CHECK(cut({64, 64}, Units(128, 1), 128) == 1);
  CHECK(cut({64, 64}, Units(128, 1), 127) == 0);
  CHECK(cut({64, 64}, Units(16, 8), 127) == 8);
}

TEST_CASE("piece_cut: what is one unit long, or nothing, is not cut") {
  CHECK(cut({}, {1, 2}) == 0);
  CHECK(cut({1, 1}, {}) == 0);
}

TEST_CASE(
    "piece_cut: random cuts fit into the runs, and none fails that one unit each would hold") {
  io::Rng rng(GENERATE(1, 2, 3, 4));
  for (int i = 0; i < 2000; ++i) {
    Units pieces;
    for (std::uint64_t n = 1 + rng.below(5); n > 0; --n) {
      pieces.push_back(static_cast<std::uint32_t>(2 + rng.below(63)));
    }
    Units runs;
    for (std::uint64_t n = rng.below(60); n > 0; --n) {
      runs.push_back(static_cast<std::uint32_t>(1 + rng.below(1 + rng.below(20))));
    }
    CAPTURE(i, pieces, runs);
    const std::uint32_t chosen = cut(pieces, runs);
    const std::uint32_t longest = *std::max_element(pieces.begin(), pieces.end());
    if (chosen == 0) {
      REQUIRE(sum(pieces) > sum(runs));  // PX4
      continue;
    }
    REQUIRE(chosen < longest);  // PX1
    const Units stripes = stripes_of(pieces, chosen);
    REQUIRE(fit(stripes, runs));
    for (const std::uint32_t units : pieces) {
      REQUIRE(divide_up(units, chosen) <= kMostCuts);  // PX2
    }
  }
}

}  // namespace hexad::core
