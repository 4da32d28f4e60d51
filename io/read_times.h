// How long a device takes for reads: enough of a distribution to tell which answer is late.
//
// Any thread, no locks. What threads note at the very same moment may be lost, which changes
// nothing that anybody rests on: these are estimates.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "io/clock.h"

namespace hexad::io {

class ReadTimes {
 public:
  // So many reads before anything is told from them.
  static constexpr std::uint32_t kFewest = 256;

  // A read took so long. Costs two atomic additions, and every 64th time a walk over the buckets.
  void note(Nanos took);
  // Half of the last reads took less; 0: there were fewer than kFewest. Both may be
  // an eighth off, and are of some 4,000 to 8,000 reads, older ones counting less.
  Nanos median() const { return median_.load(std::memory_order_relaxed); }
  // 995 of 1,000 did; 0 likewise.
  Nanos usual() const { return usual_.load(std::memory_order_relaxed); }

 private:
  // Eight buckets for each power of two, from 1 us to a minute; what is outside is in the first or
  // the last one.
  static constexpr std::uint32_t kSteps = 8;
  static constexpr std::uint32_t kLowest = 10;  // 2^10 ns
  static constexpr std::uint32_t kOctaves = 26;
  static constexpr std::uint32_t kBuckets = kOctaves * kSteps;
  static constexpr std::uint32_t kMost = 8192;  // reads; then all are halved

  static std::uint32_t bucket_of(Nanos took);
  static Nanos end_of(std::uint32_t bucket);
  void summarise();

  std::array<std::atomic<std::uint32_t>, kBuckets> buckets_{};
  std::atomic<std::uint32_t> noted_{0};
  std::atomic<bool> summarising_{false};
  std::atomic<Nanos> median_{0};
  std::atomic<Nanos> usual_{0};
};

}  // namespace hexad::io
