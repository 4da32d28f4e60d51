#include "io/event.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace hexad::io {

namespace {

constexpr Nanos kSecond = 1'000'000'000;

void futex(std::atomic<std::uint32_t>& word, int what, std::uint32_t value, const timespec* limit) {
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  syscall(SYS_futex, &word, what, value, limit, nullptr, 0);
}

}  // namespace

void Event::set() noexcept {
  const std::uint32_t before = state_.exchange(kSet, std::memory_order_acq_rel);
  if (fibers_ != nullptr) {
    fibers_->unpark_all(this);
  } else if (before == kSleeping) {
    futex(state_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr);
  }
}

void Event::wait() noexcept {
  while (!is_set()) sleep(-1);
}

bool Event::wait_for(Nanos limit) noexcept {
  const Nanos end = executor_.clock().now() + limit;
  while (!is_set()) {
    const Nanos left = end - executor_.clock().now();
    if (left <= 0) return false;
    sleep(left);
  }
  return true;
}

void Event::sleep(Nanos limit) noexcept {
  if (fibers_ != nullptr) {
    fibers_->park(this, limit < 0 ? -1 : fibers_->fiber_time() + limit);
    return;
  }
  std::uint32_t nothing = kNothing;
  if (!state_.compare_exchange_strong(nothing, kSleeping, std::memory_order_acq_rel) &&
      nothing == kSet) {
    return;
  }
  const timespec time{limit / kSecond, limit % kSecond};
  futex(state_, FUTEX_WAIT_PRIVATE, kSleeping, limit < 0 ? nullptr : &time);
}

}  // namespace hexad::io
