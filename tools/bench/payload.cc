#include "tools/bench/payload.h"

#include <algorithm>
#include <cstring>

#include "io/rng.h"

namespace hexad::tools {

namespace {

constexpr unsigned char kPattern[4] = {0xde, 0xad, 0xfa, 0xce};

}  // namespace

PayloadGenerator::PayloadGenerator(std::uint64_t seed, std::uint32_t compressible_percent)
    : random_percent_(100 - std::min(compressible_percent, 100u)) {
  io::Rng rng(seed);
  state_[0] = rng.next() | 1;  // not all zero
  state_[1] = rng.next();
}

// xoroshiro128+ (Blackman and Vigna 2018): inline, where io::Rng is a call per word.
std::uint64_t PayloadGenerator::next() {
  const std::uint64_t a = state_[0];
  std::uint64_t b = state_[1];
  const std::uint64_t result = a + b;
  b ^= a;
  state_[0] = ((a << 24) | (a >> 40)) ^ b ^ (b << 16);
  state_[1] = (b << 37) | (b >> 27);
  return result;
}

void PayloadGenerator::fill(MutByteView payload) {
  while (!payload.empty()) {
    const MutByteView block = payload.first(std::min(payload.size(), kBlockBytes));
    const std::size_t random = block.size() * random_percent_ / 100;  // of a short block, too
    for (std::size_t at = 0; at < random; at += sizeof(std::uint64_t)) {
      const std::uint64_t word = next();
      std::memcpy(block.data() + at, &word, std::min(sizeof word, random - at));
    }
    for (std::size_t at = random; at < block.size(); ++at) {
      block[at] = static_cast<std::byte>(kPattern[(at - random) % sizeof kPattern]);
    }
    payload = payload.subspan(block.size());
  }
}

}  // namespace hexad::tools
