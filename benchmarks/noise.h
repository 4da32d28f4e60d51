// Payloads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "io/rng.h"

namespace hexad::bench {

// `size` bytes that no codec shortens, the same for each seed.
inline Bytes noise(std::uint64_t size, std::uint64_t seed = 1) {
  io::Rng rng(seed);
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; i += 8) {
    const std::uint64_t word = rng.next();
    std::memcpy(bytes.data() + i, &word, std::min<std::size_t>(8, size - i));
  }
  return bytes;
}

}  // namespace hexad::bench
