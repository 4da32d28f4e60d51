#include "core/record/page_cuts.h"

#include <catch2/catch.hpp>
#include <set>

#include "io/rng.h"

namespace hexad::core {
namespace {

TEST_CASE("page_cuts: adding joins what touches, removing a page splits") {
  PageCuts cuts;
  add_cut(cuts, {10, 20});
  add_cut(cuts, {30, 40});
  REQUIRE(cuts == PageCuts{{10, 20}, {30, 40}});
  add_cut(cuts, {20, 21});
  add_cut(cuts, {25, 25});
  REQUIRE(cuts == PageCuts{{10, 21}, {30, 40}});
  remove_cut(cuts, 12);
  remove_cut(cuts, 10);
  remove_cut(cuts, 20);
  remove_cut(cuts, 21);
  REQUIRE(cuts == PageCuts{{11, 12}, {13, 20}, {30, 40}});
  remove_cut(cuts, 11);
  REQUIRE(cuts == PageCuts{{13, 20}, {30, 40}});
  add_cut(cuts, {0, kEndOfPages});
  REQUIRE(cuts == PageCuts{{0, kEndOfPages}});
  remove_cut(cuts, kEndOfPages - 1);
  REQUIRE(cuts == PageCuts{{0, kEndOfPages - 1}});
}

TEST_CASE("page_cuts: what is well formed is sorted, apart, and within what objects can have") {
  REQUIRE(is_well_formed({}));
  REQUIRE(is_well_formed({{0, 1}, {2, kEndOfPages}}));
  REQUIRE_FALSE(is_well_formed({{3, 3}}));
  REQUIRE_FALSE(is_well_formed({{0, 1}, {1, 2}}));
  REQUIRE_FALSE(is_well_formed({{5, 6}, {2, 3}}));
  REQUIRE_FALSE(is_well_formed({{0, kEndOfPages + 1}}));
}

TEST_CASE("page_cuts: random changes against a set of pages") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    io::Rng rng(seed);
    constexpr std::uint32_t kPages = 40;
    PageCuts cuts;
    std::set<std::uint32_t> model;
    for (int step = 0; step < 200; ++step) {
      CAPTURE(seed, step);
      if (rng.chance(1, 3)) {
        const auto from = static_cast<std::uint32_t>(rng.below(kPages));
        const auto end = static_cast<std::uint32_t>(from + rng.below(kPages - from + 1));
        add_cut(cuts, {from, end});
        for (std::uint32_t page = from; page < end; ++page) model.insert(page);
      } else {
        const auto page = static_cast<std::uint32_t>(rng.below(kPages));
        remove_cut(cuts, page);
        model.erase(page);
      }
      REQUIRE(is_well_formed(cuts));
      std::set<std::uint32_t> uncut;
      for (PageRange left{0, kPages};;) {
        left = first_uncut(cuts, left);
        if (left.empty()) break;
        for (std::uint32_t page = left.from; page < left.end; ++page) uncut.insert(page);
        left = {left.end, kPages};
      }
      for (std::uint32_t page = 0; page < kPages; ++page) {
        REQUIRE(is_cut(cuts, page) == (model.count(page) > 0));
        REQUIRE(uncut.count(page) == 1 - model.count(page));
        if (!is_cut(cuts, page)) continue;
        const std::uint32_t end = *end_of_cut(cuts, page);
        REQUIRE(model.count(end) == 0);
        REQUIRE(model.count(end - 1) == 1);
      }
    }
  }
}

}  // namespace
}  // namespace hexad::core
