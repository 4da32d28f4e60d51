#include "io/request_rounds.h"

#include <algorithm>

namespace hexad::io {

void RequestRounds::begin_round(std::uint8_t round, Nanos now) {
  smaller_at_.store(now, std::memory_order_relaxed);
  if (is_over(other(round))) answered_at_.store(now, std::memory_order_relaxed);
}

void RequestRounds::answered(std::uint8_t round, Nanos now) {
  answered_at_.store(now, std::memory_order_relaxed);
  const bool of_oldest = oldest_.load(std::memory_order_acquire) == round;
  if (of_oldest) smaller_at_.store(now, std::memory_order_relaxed);
  const bool last = count_[round].fetch_sub(1, std::memory_order_acq_rel) == 1;
  if (!of_oldest || !last || is_over(other(round))) return;
  std::uint8_t expected = round;
  oldest_.compare_exchange_strong(expected, other(round), std::memory_order_acq_rel);
}

Nanos RequestRounds::silent_for(Nanos now) const {
  if (is_empty()) return 0;
  return std::max<Nanos>(0, now - answered_at_.load(std::memory_order_relaxed));
}

Nanos RequestRounds::owing_for(Nanos now) {
  std::uint8_t oldest = oldest_.load(std::memory_order_acquire);
  if (!is_over(oldest)) {
    return std::max<Nanos>(0, now - smaller_at_.load(std::memory_order_relaxed));
  }
  if (is_over(other(oldest))) return 0;
  // A request went out when the last one of the round before was answered: nobody has seen that its
  // own is the oldest. It may have been sent just now.
  smaller_at_.store(now, std::memory_order_relaxed);
  oldest_.compare_exchange_strong(oldest, other(oldest), std::memory_order_acq_rel);
  return 0;
}

}  // namespace hexad::io
