// How long the free space lasts: what there was of it at some moments, and a line through them.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <span>

#include "core/api/types.h"
#include "io/clock.h"
#include "io/executor.h"

namespace hexad::core {

// What there was at a moment.
struct FillSample {
  io::Nanos at = 0;             // of the clock
  std::uint64_t available = 0;  // user bytes
};

inline constexpr io::Nanos kFillWindow = 3'600'000'000'000;  // the rate is of an hour at most
inline constexpr io::Nanos kFillShortest = 60'000'000'000;   // ... and of a minute at least
inline constexpr io::Nanos kFillStep = 60'000'000'000;       // between two samples

// `earlier`: in the order of their time, none later than `now`. The rate is that between `now` and
// a window before, where what there was is taken from the line between the samples around it; or,
// where all of them are younger, between `now` and the first.
FillForecast forecast(std::span<const FillSample> earlier, FillSample now);

// Samples since a store was opened, as far back as forecast() needs them: two a minute apart, at
// most 62. They are taken when something is committed, and nothing changes in between but for what
// is freed; so one from before a rest says what there was when it ended. Any thread.
class FillSamples {
 public:
  explicit FillSamples(io::Executor& executor) : clock_(executor.clock()), mutex_(executor) {}

  // Cost while it is false: a look at the clock.
  bool due() const { return clock_.now() >= next_.load(std::memory_order_relaxed); }
  void add(std::uint64_t available);
  FillForecast forecast(std::uint64_t available);

 private:
  io::Clock& clock_;
  std::atomic<io::Nanos> next_{0};
  io::Mutex mutex_;
  std::deque<FillSample> samples_ HEXAD_GUARDED_BY(mutex_);
};

}  // namespace hexad::core
