#include "kv/run/run_filter.h"

#include <algorithm>
#include <utility>

#include "base/checksum.h"

namespace hexad::kv {
namespace {

// ln 2 x bits a key would make the fewest mistakes: 7 of 10, 11 of 16, where it gains little.
constexpr int kProbes = 7;
constexpr std::uint64_t kMinBytes = 8;

// Double hashing: the i-th bit is hash + i * step (Kirsch and Mitzenmacher 2006).
std::uint64_t step_of(std::uint64_t hash) { return (hash >> 33) | 1; }

}  // namespace

void RunFilterBuilder::add(std::string_view key) { hashes_.push_back(xxh3_64(as_bytes(key))); }

std::string RunFilterBuilder::finish() {
  const std::uint64_t bytes =
      std::max(kMinBytes, (hashes_.size() * static_cast<std::uint64_t>(bits_) + 7) / 8);
  std::string bits(bytes, '\0');
  for (std::uint64_t hash : hashes_) {
    const std::uint64_t step = step_of(hash);
    for (int probe = 0; probe < kProbes; ++probe, hash += step) {
      const std::uint64_t bit = hash % (bytes * 8);
      bits[bit / 8] = static_cast<char>(static_cast<unsigned char>(bits[bit / 8]) | 1u << bit % 8);
    }
  }
  hashes_.clear();
  return bits;
}

Result<RunFilter> RunFilter::parse(std::string bytes) {
  if (bytes.empty()) return Error{ErrorCode::kCorruption, "an empty filter", ""};
  RunFilter filter;
  filter.bits_ = std::move(bytes);
  return filter;
}

bool RunFilter::may_contain(std::string_view key) const {
  std::uint64_t hash = xxh3_64(as_bytes(key));
  const std::uint64_t step = step_of(hash);
  for (int probe = 0; probe < kProbes; ++probe, hash += step) {
    const std::uint64_t bit = hash % (bits_.size() * 8);
    if ((static_cast<unsigned char>(bits_[bit / 8]) >> bit % 8 & 1) == 0) return false;
  }
  return true;
}

}  // namespace hexad::kv
