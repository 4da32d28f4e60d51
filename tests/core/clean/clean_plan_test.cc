#include "core/clean/clean_plan.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "io/rng.h"

namespace hexad::core {
namespace {

constexpr std::uint64_t kBytes = 16384;  // of one unit of a stripe

CleanRules rules_of(std::uint32_t most_live) {
  CleanRules rules;
  rules.stripe_bytes = kBytes;
  rules.most_units = 100;
  rules.most_live = most_live;
  rules.moved_up_to = 1000;
  rules.now = 2000;
  return rules;
}

// `percent` of it is alive.
CleanCandidate candidate(std::uint32_t unit, std::uint32_t units, std::uint32_t percent, Lsn at) {
  return {{1, unit, units}, units * kBytes * percent / 100, 0, at, at};
}

TEST_CASE("clean plan: nothing to choose from, and nothing worth it") {
  CHECK(plan_cleaning({}, rules_of(1024)).empty());
  const std::vector<CleanCandidate> full = {candidate(1, 100, 99, 10), candidate(200, 100, 98, 10)};
  CHECK(plan_cleaning(full, rules_of(1024)).empty());
  CHECK(units_to_gain(full, rules_of(1024)) == 0);
}

TEST_CASE("clean plan: the deadest come first, of those that are as dead the oldest") {
  const std::vector<CleanCandidate> three = {candidate(1, 50, 60, 10), candidate(100, 50, 20, 500),
                                             candidate(200, 50, 20, 10)};
  const CleanPlan plan = plan_cleaning(three, rules_of(1024));
  REQUIRE(plan.victims.size() == 2 + 1);
  CHECK(plan.victims[0].stripe.unit == 200);
  CHECK(plan.victims[1].stripe.unit == 100);
  CHECK(plan.gain > 90);
}

TEST_CASE("clean plan: what is not in a checkpoint yet is no victim, however dead it is") {
  CleanRules rules = rules_of(1024);
  const std::vector<CleanCandidate> young = {candidate(1, 50, 1, 1001)};
  CHECK(plan_cleaning(young, rules).empty());
  CHECK(units_to_gain(young, rules) == 0);
  rules.moved_up_to = 1001;
  CHECK(plan_cleaning(young, rules).victims.size() == 1);
}

// What a plan may be, said anew.
void check_plan(const CleanPlan& plan, const std::vector<CleanCandidate>& all,
                const CleanRules& rules) {
  std::uint64_t live = 0;
  std::uint64_t units = 0;
  for (const CleanCandidate& one : plan.victims) {
    REQUIRE(one.born <= rules.moved_up_to);
    REQUIRE(static_cast<double>(one.live) <=
            static_cast<double>(one.stripe.units * kBytes) * rules.most_live / 1024.0);
    live += one.live;
    units += one.stripe.units;
    REQUIRE(std::count_if(all.begin(), all.end(), [&](const CleanCandidate& each) {
              return each.stripe == one.stripe;
            }) == 1);
  }
  if (plan.empty()) return;
  REQUIRE(units_for(live, rules) <= rules.most_units);
  REQUIRE(plan.gain == units - units_for(live, rules));
  REQUIRE(units > units_for(live, rules));
}

TEST_CASE("clean plan: random stripes, cleaned until nothing is worth it, end up with few dead") {
  io::Rng rng(11);
  for (int round = 0; round < 300; ++round) {
    CleanRules rules = rules_of(static_cast<std::uint32_t>(1 + rng.below(1024)));
    rules.most_units = static_cast<std::uint32_t>(1 + rng.below(140));
    std::vector<CleanCandidate> all;
    std::uint32_t unit = 1;
    const std::uint64_t count = rng.below(60);
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto units = static_cast<std::uint32_t>(1 + rng.below(rules.most_units));
      all.push_back(
          candidate(unit, units, static_cast<std::uint32_t>(rng.below(101)), rng.below(1500)));
      unit += units;
    }
    // Each move takes its victims away and brings one stripe that is alive.
    std::uint64_t taken = unit - 1;
    for (int moves = 0;; ++moves) {
      REQUIRE(moves < 10'000);
      const CleanPlan plan = plan_cleaning(all, rules);
      check_plan(plan, all, rules);
      if (plan.empty()) break;
      std::uint64_t live = 0;
      for (const CleanCandidate& victim : plan.victims) {
        live += victim.live;
        std::erase_if(all, [&](const CleanCandidate& one) { return one.stripe == victim.stripe; });
      }
      taken -= plan.gain;
      const auto units = static_cast<std::uint32_t>(units_for(live, rules));
      if (units > 0) all.push_back({{2, unit, units}, live, 0, 500, 500});
      unit += units;
    }
    std::uint64_t left = 0;
    for (const CleanCandidate& one : all) left += one.stripe.units;
    REQUIRE(left == taken);
  }
}

}  // namespace
}  // namespace hexad::core
