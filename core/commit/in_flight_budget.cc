#include "core/commit/in_flight_budget.h"

#include <utility>

#include "base/units.h"
#include "io/recall.h"

namespace hexad::core {

InFlightBudget::InFlightBudget(io::Executor& executor, std::uint64_t limit,
                               std::function<bool()> relieve)
    : limit_(limit), relieve_(std::move(relieve)), mutex_(executor), changed_(executor) {}

Result<std::shared_ptr<void>> InFlightBudget::take(std::uint64_t bytes) {
  io::Lock lock(mutex_);
  const std::uint64_t turn = next_turn_++;
  const auto admitted = [&]() HEXAD_REQUIRES(mutex_) {
    return turn == turn_ && (used_ == 0 || used_ + bytes <= limit_);
  };
  while (!admitted()) {
    if (turn == turn_) {
      lock.unlock();
      const bool relieved = relieve_();
      lock.lock();
      if (relieved || admitted()) continue;
    }
    if (io::Recall::here() == nullptr) {
      changed_.wait(lock);
      continue;
    }
    changed_.wait_for(lock, io::Recall::kBetweenAsks);
    if (admitted()) continue;
    lock.unlock();
    const bool called_back = io::Recall::comes();
    std::set<std::uint64_t> left;
    if (called_back) left.insert(turn);
    lock.lock();
    if (!called_back || admitted()) continue;
    if (turn == turn_) {
      pass();
    } else {
      left_.merge(left);
    }
    lock.unlock();
    return Error{ErrorCode::kUnavailable,
                 "the thread was called back while it waited until " + format_size(bytes) +
                     " more may be in flight, of " + format_size(limit_),
                 "Nothing has changed: try again when the devices answer."};
  }
  used_ += bytes;
  pass();
  lock.unlock();  // where there is no memory for it, what is returned gives back at once
  return std::shared_ptr<void>(nullptr, [this, bytes](void*) { release(bytes); });
}

void InFlightBudget::pass() {
  do {
    ++turn_;
  } while (left_.erase(turn_) > 0);
  if (turn_ != next_turn_) changed_.notify_all();
}

void InFlightBudget::release(std::uint64_t bytes) {
  const io::Lock lock(mutex_);
  used_ -= bytes;
  if (turn_ != next_turn_) changed_.notify_all();
}

}  // namespace hexad::core
