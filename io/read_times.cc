#include "io/read_times.h"

#include <algorithm>
#include <bit>

namespace hexad::io {

std::uint32_t ReadTimes::bucket_of(Nanos took) {
  const auto nanos = static_cast<std::uint64_t>(std::max<Nanos>(took, 1));
  const auto octave = static_cast<std::uint32_t>(std::bit_width(nanos) - 1);
  if (octave < kLowest) return 0;
  const std::uint64_t within = (nanos - (std::uint64_t{1} << octave)) * kSteps >> octave;
  const std::uint64_t bucket = std::uint64_t{octave - kLowest} * kSteps + within;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(bucket, kBuckets - 1));
}

Nanos ReadTimes::end_of(std::uint32_t bucket) {
  const std::uint64_t octave = std::uint64_t{1} << (kLowest + bucket / kSteps);
  return static_cast<Nanos>(octave + octave * (bucket % kSteps + 1) / kSteps);
}

void ReadTimes::note(Nanos took) {
  constexpr std::uint32_t kBetween = 64;
  buckets_[bucket_of(took)].fetch_add(1, std::memory_order_relaxed);
  const std::uint32_t noted = noted_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (noted < kFewest || noted % kBetween != 0) return;
  if (summarising_.exchange(true, std::memory_order_acquire)) return;
  summarise();
  summarising_.store(false, std::memory_order_release);
}

void ReadTimes::summarise() {
  std::array<std::uint32_t, kBuckets> now;
  std::uint64_t total = 0;
  for (std::uint32_t i = 0; i < kBuckets; ++i) {
    now[i] = buckets_[i].load(std::memory_order_relaxed);
    total += now[i];
  }
  // Within a bucket as if they were spread evenly.
  const auto below = [&](std::uint64_t share_of_1000) {
    const std::uint64_t wanted = (total * share_of_1000 + 999) / 1000;
    std::uint64_t seen = 0;
    std::uint32_t bucket = 0;
    while (bucket + 1 < kBuckets && seen + now[bucket] < wanted) seen += now[bucket++];
    const Nanos begin = bucket == 0 ? 0 : end_of(bucket - 1);
    const std::uint64_t of = std::max<std::uint64_t>(now[bucket], 1);
    return begin + (end_of(bucket) - begin) * static_cast<Nanos>(std::min(wanted - seen, of)) /
                       static_cast<Nanos>(of);
  };
  median_.store(below(500), std::memory_order_relaxed);
  usual_.store(below(995), std::memory_order_relaxed);
  if (total < kMost) return;
  for (std::uint32_t i = 0; i < kBuckets; ++i) {
    buckets_[i].fetch_sub(now[i] - now[i] / 2, std::memory_order_relaxed);
  }
}

}  // namespace hexad::io
