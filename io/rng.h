// Randomness, injected: a small seeded generator (xoshiro256**, Blackman and Vigna 2018). Not for
// secrets. One thread at a time.
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace hexad::io {

class Rng {
 public:
  // The same seed gives the same sequence on every machine and in every build mode.
  explicit Rng(std::uint64_t seed);
  // Seeded from the operating system.
  static Rng from_entropy();

  std::uint64_t next();
  // Uniform in [0, bound); bound > 0.
  std::uint64_t below(std::uint64_t bound);
  // True with probability numerator / denominator.
  bool chance(std::uint64_t numerator, std::uint64_t denominator);
  // A version 4 UUID.
  Uuid uuid();

 private:
  std::uint64_t state_[4];
};

}  // namespace hexad::io
