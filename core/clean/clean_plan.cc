#include "core/clean/clean_plan.h"

#include <algorithm>

#include "base/units.h"

namespace hexad::core {

namespace {

constexpr std::uint64_t kParts = 1024;

// CP1
bool may_be_moved(const CleanCandidate& one, const CleanRules& rules) {
  return one.born <= rules.moved_up_to &&
         may_be_victim(one.live, one.stripe.units * rules.stripe_bytes, rules.most_live);
}

double worth(const CleanCandidate& one, const CleanRules& rules) {
  const auto live = static_cast<double>(one.live);
  const auto all = static_cast<double>(one.stripe.units * rules.stripe_bytes);
  const auto age = static_cast<double>(rules.now - std::min(one.written, rules.now) + 1);
  return (all - live) / (all + live) * age;
}

}  // namespace

bool may_be_victim(std::uint64_t live, std::uint64_t all, std::uint32_t most_live) {
  return live * kParts <= all * most_live;
}

// A 32nd for footers and gaps.
std::uint64_t units_for(std::uint64_t live, const CleanRules& rules) {
  return divide_up(live + live / 32, rules.stripe_bytes);
}

CleanPlan plan_cleaning(std::span<const CleanCandidate> candidates, const CleanRules& rules) {
  std::vector<CleanCandidate> possible;
  for (const CleanCandidate& one : candidates) {
    if (may_be_moved(one, rules)) possible.push_back(one);
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
    if (!may_be_moved(one, rules)) continue;
    live += one.live;
    units += one.stripe.units;
  }
  const std::uint64_t needed = units_for(live, rules);
  return units > needed ? units - needed : 0;
}

}  // namespace hexad::core
