// What commits share besides their order: the bytes in flight, the sealing of buffered ones,
// sync().
#include <utility>

#include "core/engine.h"

namespace hexad::core {

namespace {

// Buffered commits are sealed so long after the first of them at the latest.
constexpr io::Nanos kBufferedDelay = 10'000'000;

}  // namespace

// In the order of asking: a large transaction is not passed by small ones for ever, and the wait of
// each grows with those before it and no more.
std::shared_ptr<void> Engine::take_budget(std::uint64_t bytes) {
  io::Lock lock(budget_mutex_);
  const std::uint64_t turn = budget_next_turn_++;
  // A single larger transaction passes alone.
  const auto admitted = [&] {
    return turn == budget_turn_ &&
           (budget_used_ == 0 || budget_used_ + bytes <= parts_.options.max_in_flight);
  };
  while (!admitted()) {
    if (turn == budget_turn_ && seal_wanted_.load(std::memory_order_relaxed)) {
      // Buffered commits hold some of it until they are durable.
      lock.unlock();
      seal_wanted_.store(false, std::memory_order_relaxed);
      lane_->want_all();
      lock.lock();
      continue;
    }
    budget_changed_.wait(lock);
  }
  budget_used_ += bytes;
  ++budget_turn_;
  if (budget_turn_ != budget_next_turn_) budget_changed_.notify_all();
  return {nullptr, [this, bytes](void*) {
            const io::Lock inner(budget_mutex_);
            budget_used_ -= bytes;
            if (budget_turn_ != budget_next_turn_) budget_changed_.notify_all();
          }};
}

void Engine::seal_soon() {
  if (seal_wanted_.exchange(true, std::memory_order_acq_rel)) return;
  const io::Lock lock(seal_mutex_);
  if (sealer_ == nullptr) sealer_ = executor().start("hexad-seal", [this] { sealer(); });
  seal_changed_.notify_all();
}

// Whatever was buffered when it was woken is sealed kBufferedDelay later at the latest.
void Engine::sealer() {
  io::Lock lock(seal_mutex_);
  for (;;) {
    seal_changed_.wait(
        lock, [this] { return seal_stopping_ || seal_wanted_.load(std::memory_order_relaxed); });
    const io::Nanos deadline = executor().clock().now() + kBufferedDelay;
    while (!seal_stopping_) {
      const io::Nanos left = deadline - executor().clock().now();
      if (left <= 0 || !seal_changed_.wait_for(lock, left)) break;
    }
    if (seal_stopping_) return;
    lock.unlock();
    // Before what it promises: who comes now asks again.
    seal_wanted_.store(false, std::memory_order_release);
    lane_->want_all();
    lock.lock();
  }
}

Status Engine::lost_buffered() const {
  const std::optional<Lane::Lost> lost = lane_->lost_buffered();
  if (!lost.has_value()) return {};
  return Error{ErrorCode::kIo,
               "the store has turned read-only before commits were durable that may have been "
               "answered: LSN " +
                   std::to_string(lost->first) + " to " + std::to_string(lost->last) +
                   " may be lost (" + lane_->stopped()->message + ")",
               "Close the store, check its devices, open it again, and see which are there."};
}

// A durable commit that is refused is the first to learn of lost buffered ones, for all it knows.
Error Engine::told(const Error& error, Durability durability) const {
  if (error.code != ErrorCode::kReadOnly || durability != Durability::kDurable) return error;
  if (lane_ == nullptr) return error;
  const Status lost = lost_buffered();
  return lost.ok() ? error : lost.error();
}

Status Engine::sync() {
  if (lane_ == nullptr) return {};
  if (closed_.load(std::memory_order_acquire)) return writable();
  const Lsn last = lane_->stopped().has_value() ? lane_->durable() : lane_->next_lsn() - 1;
  const Status durable = lane_->wait_durable(last);
  HEXAD_TRY(lost_buffered());
  return durable;
}

}  // namespace hexad::core
