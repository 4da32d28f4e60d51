#include "core/commit/in_flight_budget.h"

#include <utility>

namespace hexad::core {

InFlightBudget::InFlightBudget(io::Executor& executor, std::uint64_t limit,
                               std::function<bool()> relieve)
    : limit_(limit), relieve_(std::move(relieve)), mutex_(executor), changed_(executor) {}

std::shared_ptr<void> InFlightBudget::take(std::uint64_t bytes) {
  io::Lock lock(mutex_);
  const std::uint64_t turn = next_turn_++;
  const auto admitted = [&] { return turn == turn_ && (used_ == 0 || used_ + bytes <= limit_); };
  while (!admitted()) {
    if (turn == turn_) {
      lock.unlock();
      const bool relieved = relieve_();
      lock.lock();
      if (relieved || admitted()) continue;
    }
    changed_.wait(lock);
  }
  used_ += bytes;
  ++turn_;
  if (turn_ != next_turn_) changed_.notify_all();
  lock.unlock();  // where there is no memory for it, what is returned gives back at once
  return {nullptr, [this, bytes](void*) { give_back(bytes); }};
}

void InFlightBudget::give_back(std::uint64_t bytes) {
  const io::Lock lock(mutex_);
  used_ -= bytes;
  if (turn_ != next_turn_) changed_.notify_all();
}

}  // namespace hexad::core
