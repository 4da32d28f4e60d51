#include "tools/bench/histogram.h"

namespace hexad::tools {

void Histogram::merge(const Histogram& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
}

std::uint64_t Histogram::percentile(std::uint64_t numerator, std::uint64_t denominator) const {
  if (count_ == 0) return 0;
  // Counts stay far below 2^64 / 1000: the product does not wrap.
  const std::uint64_t rank = (count_ * numerator + denominator - 1) / denominator;
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i];
    if (seen > 0 && seen >= rank) return upper_bound(i);
  }
  return upper_bound(kBuckets - 1);
}

}  // namespace hexad::tools
