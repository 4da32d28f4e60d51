#include "core/clean/left_victims.h"

namespace hexad::core {

namespace {

constexpr std::size_t kMostLeft = 1 << 16;
constexpr io::Nanos kBetweenTries = 10'000'000'000;  // CL8

}  // namespace

void LeftVictims::leave(const alloc::Extent& stripe, std::uint64_t live, CounterId why) {
  if (left_.size() >= kMostLeft) left_.clear();
  left_[name_of(stripe)] = {live, why};
}

bool LeftVictims::is_left(const alloc::Extent& stripe, std::uint64_t live) const {
  const auto left = left_.find(name_of(stripe));
  if (left != left_.end() && left->second.live == live) return true;
  return no_room_.contains(name_of(stripe));
}

bool LeftVictims::try_again(const Reasons& reasons, io::Nanos now) {
  const bool asked = reasons.asked;
  const bool rested = reasons.rested.has_value() && reasons.rested != rested_;
  const bool wanted = rested || reasons.commit || reasons.healed != healed_;
  const bool waited = !tried_.has_value() || now - *tried_ >= kBetweenTries;
  if (!asked && !(wanted && waited)) return false;
  tried_ = now;
  healed_ = reasons.healed;
  if (rested) rested_ = reasons.rested;
  std::erase_if(left_,
                [](const auto& left) { return left.second.why == CounterId::kCleanUnreadable; });
  return true;
}

}  // namespace hexad::core
