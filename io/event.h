// Something that happens once, and a thread that waits for it. A mutex and a condition would do;
// they take three system calls for it, one of them because the mutex of a condition counts as
// contended when its waiter has it again. This takes two, and none where nobody waits yet.
#pragma once

#include <atomic>
#include <cstdint>

#include "io/executor.h"

namespace hexad::io {

class Event {
 public:
  explicit Event(Executor& executor) : executor_(executor), fibers_(executor.fibers()) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // It has happened: what was written before is seen by whoever knows. Once. Whoever waits may be
  // gone with the event as soon as it knows, so somebody else owns the event, too.
  void set() noexcept;
  bool is_set() const { return state_.load(std::memory_order_acquire) == kSet; }
  // One thread waits.
  void wait() noexcept;
  // The same for `limit` at most: is_set().
  bool wait_for(Nanos limit) noexcept;

 private:
  static constexpr std::uint32_t kNothing = 0;
  static constexpr std::uint32_t kSleeping = 1;  // and a thread sleeps until that changes
  static constexpr std::uint32_t kSet = 2;
  // Until woken, for `limit` at most; negative: none. Wakes up spuriously.
  void sleep(Nanos limit) noexcept;

  Executor& executor_;
  FiberScheduler* const fibers_;
  std::atomic<std::uint32_t> state_{kNothing};
};

}  // namespace hexad::io
