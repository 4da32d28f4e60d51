#include "io/rng.h"

#include <random>

#include "base/assert.h"

namespace hexad::io {

namespace {

constexpr std::uint64_t rotate_left(std::uint64_t value, int by) {
  return value << by | value >> (64 - by);
}

// splitmix64 (Steele, Lea, Flood 2014): turns any seed, zero included, into a good state.
std::uint64_t split_mix(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t mixed = state;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
  return mixed ^ mixed >> 31;
}

}  // namespace

Rng::Rng(std::uint64_t seed) {
  for (std::uint64_t& word : state_) word = split_mix(seed);
}

Rng Rng::from_entropy() {
  std::random_device entropy;
  return Rng(static_cast<std::uint64_t>(entropy()) << 32 | entropy());
}

std::uint64_t Rng::next() {
  const std::uint64_t result = rotate_left(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = rotate_left(state_[3], 45);
  return result;
}

std::uint64_t Rng::below(std::uint64_t bound) {
  HEXAD_ASSERT(bound > 0);
  // Values under `threshold` = 2^64 mod bound are drawn again, so that each residue is equally
  // likely.
  const std::uint64_t threshold = (0 - bound) % bound;
  for (;;) {
    const std::uint64_t value = next();
    if (value >= threshold) return value % bound;
  }
}

bool Rng::chance(std::uint64_t numerator, std::uint64_t denominator) {
  return below(denominator) < numerator;
}

Uuid Rng::uuid() {
  Uuid uuid;
  for (std::size_t half = 0; half < 2; ++half) {
    const std::uint64_t value = next();
    for (std::size_t i = 0; i < 8; ++i) {
      uuid.bytes[half * 8 + i] = static_cast<std::uint8_t>(value >> (8 * i));
    }
  }
  uuid.bytes[6] = static_cast<std::uint8_t>((uuid.bytes[6] & 0x0f) | 0x40);  // version 4
  uuid.bytes[8] = static_cast<std::uint8_t>((uuid.bytes[8] & 0x3f) | 0x80);  // RFC 4122 variant
  return uuid;
}

}  // namespace hexad::io
