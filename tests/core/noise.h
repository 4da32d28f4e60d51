// Values for tests: bytes that do not compress, the same for the same seed.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "io/rng.h"

namespace hexad::testing {

inline std::string noise(std::size_t size, std::uint64_t seed) {
  io::Rng rng(seed);
  std::string bytes(size, '\0');
  std::size_t at = 0;
  for (; at + 8 <= size; at += 8) {
    const std::uint64_t word = rng.next();
    std::memcpy(bytes.data() + at, &word, 8);
  }
  for (; at < size; ++at) bytes[at] = static_cast<char>(rng.next());
  return bytes;
}

}  // namespace hexad::testing
