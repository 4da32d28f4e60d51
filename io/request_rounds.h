// For how long a device has owed an answer, told from how long requests wait behind one another:
// one that works through a long backlog owes none, however old its requests are, and one that keeps
// a single request for ever does, whatever else it answers.
//
// Requests are counted by rounds. What goes out while the oldest round has not been answered whole
// belongs to the next one, which becomes the oldest when it has. So the oldest round only gets
// smaller, whatever the order of the answers, and comes to its end unless something in it hangs:
// the time since it last got smaller is what the device owes.
//
// Invariants
//   RR1 a request belongs to the oldest round or to the one behind it, from when it is given to the
//       device until its answer, and is in no round before
//   RR2 while a request hangs, no answer to one that went out later moves the time since the oldest
//       round got smaller, once the rounds before it are over
//   RR3 nobody asks the clock but for the first request of a round, and for each answer once; there
//       is no lock
// Threads that go out or are answered at the very moment when rounds change may belong to the one
// or the other; then a device owes nothing for the time before.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "io/clock.h"

namespace hexad::io {

class RequestRounds {
 public:
  static constexpr std::uint8_t kNone = 2;

  // A request is given to the device. Its round, for answered(). `now()`: the time.
  template <typename Now>
  std::uint8_t sent(const Now& now) {
    const std::uint8_t oldest = oldest_.load(std::memory_order_acquire);
    if (!is_over(oldest)) {
      count_[other(oldest)].fetch_add(1, std::memory_order_acq_rel);
      return other(oldest);
    }
    begin_round(oldest, now());
    count_[oldest].fetch_add(1, std::memory_order_acq_rel);
    return oldest;
  }
  // It has answered at `now`.
  void answered(std::uint8_t round, Nanos now);

  bool is_empty() const { return is_over(0) && is_over(1); }
  // For how long requests have been there and none has been answered; 0: there are none.
  Nanos silent_for(Nanos now) const;
  // For how long none of the oldest round has been answered; 0: there are none. Not less than
  // silent_for().
  Nanos owing_for(Nanos now);

 private:
  static std::uint8_t other(std::uint8_t round) { return round ^ 1; }
  bool is_over(std::uint8_t round) const {
    return count_[round].load(std::memory_order_acquire) == 0;
  }
  // Before the first one counts: a device that had nothing to do owes nothing since then.
  void begin_round(std::uint8_t round, Nanos now);

  std::atomic<std::uint8_t> oldest_{0};                // the other one is behind it
  std::array<std::atomic<std::uint64_t>, 2> count_{};  // requests without an answer, by round
  std::atomic<Nanos> answered_at_{0};                  // the last one, or there were none
  std::atomic<Nanos> smaller_at_{0};                   // the oldest round, or it began
};

}  // namespace hexad::io
