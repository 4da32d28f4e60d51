#include "core/clean/clean_plan.h"

#include <algorithm>

#include "base/units.h"

namespace hexad::core {

namespace {

constexpr std::uint64_t kParts = 1024;

bool may_be_victim(const CleanCandidate& one, const CleanRules& rules) {
  const std::uint64_t all = one.stripe.units * rules.stripe_bytes;
  return one.born <= rules.moved_up_to && one.live * kParts <= all * rules.most_live;  // CP1
}

double worth(const CleanCandidate& one, const CleanRules& rules) {
  const auto live = static_cast<double>(one.live);
  const auto all = static_cast<double>(one.stripe.units * rules.stripe_bytes);
  const auto age = static_cast<double>(rules.now - std::min(one.written, rules.now) + 1);
  return (all - live) / (all + live) * age;
}

}  // namespace

// A 32nd for footers and gaps.
std::uint64_t units_for(std::uint64_t live, const CleanRules& rules) {
  return divide_up(live + live / 32, rules.stripe_bytes);
}

CleanPlan plan_cleaning(std::span<const CleanCandidate> candidates, const CleanRules& rules) {
  std::vector<CleanCandidate> possible;
  for (const CleanCandidate& one : candidates) {
    if (may_be_victim(one, rules)) possible.push_back(one);
  }
  std::stable_sort(possible.begin(), possible.end(),
                   [&](const CleanCandidate& a, const CleanCandidate& b) {
                     return worth(a, rules) > worth(b, rules);  // CP4
                   });
  CleanPlan plan;
  std::uint64_t live = 0;
  std::uint64_t units = 0;
  for (const CleanCandidate& one : possible) {
    if (units_for(live + one.live, rules) > rules.most_units) continue;  // CP2
    live += one.live;
    units += one.stripe.units;
    plan.victims.push_back(one);
  }
  const std::uint64_t needed = units_for(live, rules);
  if (units <= needed) return {};  // CP3
  plan.gain = units - needed;
  return plan;
}

std::uint64_t units_to_gain(std::span<const CleanCandidate> candidates, const CleanRules& rules) {
  std::uint64_t live = 0;
  std::uint64_t units = 0;
  for (const CleanCandidate& one : candidates) {
    if (!may_be_victim(one, rules)) continue;
    live += one.live;
    units += one.stripe.units;
  }
  const std::uint64_t needed = units_for(live, rules);
  return units > needed ? units - needed : 0;
}

}  // namespace hexad::core
