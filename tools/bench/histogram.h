// Latencies in logarithmic buckets, after the idea of HDR histograms: every power of two is cut
// into 64 equal parts, so that a percentile is off by at most 1/64 of itself, in a fixed 30 KiB.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace hexad::tools {

// One thread at a time; threads keep their own and merge at the end.
class Histogram {
 public:
  // Any unit.
  void add(std::uint64_t value) {
    ++buckets_[bucket_of(value)];
    ++count_;
  }
  void merge(const Histogram& other);
  std::uint64_t count() const { return count_; }
  // The smallest recorded value (to bucket precision, rounded up) that is no smaller than
  // `numerator` / `denominator` of all values. 0 when there are none. Precondition: numerator <=
  // denominator, denominator > 0.
  std::uint64_t percentile(std::uint64_t numerator, std::uint64_t denominator) const;

 private:
  static constexpr unsigned kPartBits = 6;
  static constexpr std::uint64_t kParts = 1 << kPartBits;
  static constexpr std::size_t kBuckets = (64 - kPartBits + 1) * kParts;

  static constexpr std::size_t bucket_of(std::uint64_t value) {
    if (value < kParts) return static_cast<std::size_t>(value);
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - kPartBits - 1;
    return static_cast<std::size_t>(((shift + 1) << kPartBits) + ((value >> shift) - kParts));
  }
  // The largest value of the bucket.
  static constexpr std::uint64_t upper_bound(std::size_t bucket) {
    if (bucket < kParts) return bucket;
    const std::uint64_t shift = (bucket >> kPartBits) - 1;
    const std::uint64_t part = (bucket & (kParts - 1)) + kParts;
    return (part << shift) + ((std::uint64_t{1} << shift) - 1);
  }

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
};

}  // namespace hexad::tools
