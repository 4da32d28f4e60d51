#include "compression/probe.h"

#include <algorithm>
#include <array>

#include "compression/codec.h"

namespace hexad::compression {
namespace {

constexpr std::size_t kSliceBytes = 64;
constexpr std::size_t kMaxSlices = 64;
// A payload of 4 KiB is sampled to a quarter: looking at all of it would cost as much as snappy.
constexpr std::size_t kBytesPerSlice = 256;
constexpr std::size_t kTrialBytes = 64 * 1024;
constexpr std::uint64_t kWholeRatio = 1000;

// How often each byte value occurs in slices spread over the payload.
class Histogram {
 public:
  explicit Histogram(ByteView payload) {
    // One slice from each of several equal parts. Where in its part it lies varies, lest payloads
    // made of equal blocks (half noise, half zeros, say) show the same half each time.
    const std::size_t slices =
        std::clamp<std::size_t>(payload.size() / kBytesPerSlice, 1, kMaxSlices);
    const std::size_t part = payload.size() / slices;
    const std::size_t slice = std::min(part, slices == 1 ? part : kSliceBytes);
    std::uint32_t state = 1;
    for (std::size_t i = 0; i < slices; ++i) {
      state = state * 1664525U + 1013904223U;  // the generator of Numerical Recipes
      const std::size_t shift = (state >> 8) % (part - slice + 1);
      count(payload.subspan(i * part + shift, slice));
    }
  }

  // Among all pairs of sampled bytes, those that are equal: one in 256 where the values are evenly
  // distributed, more the less even they are.
  std::uint64_t equal_pairs() const {
    std::uint64_t pairs = 0;
    for (std::size_t value = 0; value < 256; ++value) {
      const std::uint64_t n = std::uint64_t{tables_[0][value]} + tables_[1][value] +
                              tables_[2][value] + tables_[3][value];
      pairs += n * (n - 1) / 2;
    }
    return pairs;
  }
  std::uint64_t all_pairs() const { return total_ * (total_ - 1) / 2; }

 private:
  // Four tables, so that equal neighbours do not wait for one another's counter.
  void count(ByteView bytes) {
    std::array<std::array<std::uint32_t, 256>, 4>& t = tables_;
    std::size_t i = 0;
    for (; i + 4 <= bytes.size(); i += 4) {
      for (std::size_t j = 0; j < 4; ++j) ++t[j][static_cast<std::uint8_t>(bytes[i + j])];
    }
    for (; i < bytes.size(); ++i) ++t[0][static_cast<std::uint8_t>(bytes[i])];
    total_ += bytes.size();
  }

  std::array<std::array<std::uint32_t, 256>, 4> tables_{};
  std::uint64_t total_ = 0;
};

// Whether the sampled values are so even that no entropy coder could gain what is required. One
// that shortens data to a fraction r needs 256^(1-r) times as many equal pairs as noise has
// (collision entropy is never above Shannon's). Much less already counts as uneven, because repeats
// add to the gain: 3 * (1-r) more than noise, and four standard deviations for chance.
bool is_even(const Histogram& histogram, std::uint32_t required_ratio) {
  const std::uint64_t of_noise = histogram.all_pairs() / 256;
  const std::uint64_t found = histogram.equal_pairs();
  if (found <= of_noise) return true;
  const std::uint64_t margin =
      of_noise * 3 * (kWholeRatio - std::min<std::uint64_t>(required_ratio, kWholeRatio)) /
      kWholeRatio;
  const std::uint64_t excess = found - of_noise;
  // The variance of the number of equal pairs is about that number.
  return excess <= margin || (excess - margin) * (excess - margin) <= 16 * of_noise;
}

// Whether the beginning holds repeats worth a quarter of the gain required. LZ4 passes noise at
// some 15 GB/s, because it hurries where it finds nothing; snappy is twice as fast there, but in
// such a hurry that it misses noise that comes twice.
bool has_repeats(ByteView payload, std::uint32_t required_ratio) {
  const ByteView beginning = payload.first(std::min(payload.size(), kTrialBytes));
  const std::uint64_t gain = beginning.size() *
                             (kWholeRatio - std::min<std::uint64_t>(required_ratio, kWholeRatio)) /
                             kWholeRatio / 4;
  static_assert(kTrialBytes == 64 * 1024);
  thread_local std::array<std::byte, kTrialBytes> scratch;
  const auto packed =
      compress(Algorithm::kLz4, 0, beginning, MutByteView(scratch).first(beginning.size() - gain));
  return !packed.ok() || packed->has_value();
}

}  // namespace

bool looks_compressible(ByteView payload, std::uint32_t required_ratio) {
  if (payload.empty()) return false;
  return !is_even(Histogram(payload), required_ratio) || has_repeats(payload, required_ratio);
}

}  // namespace hexad::compression
