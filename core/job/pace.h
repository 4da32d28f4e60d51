// How background work is paced: how long it rests between pieces, and waits between tries.
#pragma once

#include <algorithm>

#include "io/clock.h"

namespace hexad::core {

// Rests for as long as it has worked, so that users of the store have the devices for half of the
// time at least. One thread.
class HalfPace {
 public:
  explicit HalfPace(io::Clock& clock) : clock_(clock) {}

  // A piece of work begins.
  void begin() { began_ = clock_.now(); }
  // For how long the piece has gone on.
  io::Nanos worked() const { return clock_.now() - began_; }
  // When the next piece may begin, where the present one ends now and the rest is `longest` at
  // most.
  io::Nanos rest_until(io::Nanos longest = kNoLimit) const {
    const io::Nanos now = clock_.now();
    return now + std::min(now - began_, longest);
  }

  static constexpr io::Nanos kNoLimit = io::Nanos{1} << 62;

 private:
  io::Clock& clock_;
  io::Nanos began_ = 0;
};

// How long to wait before what has failed is tried again: at first `first`, then each time twice
// as long, `longest` at most. One thread.
class Backoff {
 public:
  constexpr Backoff(io::Nanos first, io::Nanos longest) : first_(first), longest_(longest) {}

  // After a failure: the wait before the next try.
  io::Nanos next() {
    wait_ = std::clamp(2 * wait_, first_, longest_);
    return wait_;
  }
  // The wait that next() will return, while it stays what it is.
  io::Nanos coming() const { return std::clamp(2 * wait_, first_, longest_); }
  // After a success, or when somebody asks anew.
  void reset() { wait_ = 0; }
  // The last try has failed.
  bool failing() const { return wait_ != 0; }

 private:
  io::Nanos first_;
  io::Nanos longest_;
  io::Nanos wait_ = 0;  // before the try that comes; 0: the last one has not failed
};

}  // namespace hexad::core
