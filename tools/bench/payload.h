// What a benchmark writes: random bytes, new for every operation, or a chosen part of them.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace hexad::tools {

// As fio's buffer_compress_percentage with a pattern: of every 4 KiB block the first
// (100 - percent) % are random, the rest repeats the bytes de ad fa ce. 0 is all random. One
// thread at a time. Cost: about 0.2 ns per random byte.
class PayloadGenerator {
 public:
  static constexpr std::size_t kBlockBytes = 4096;

  PayloadGenerator(std::uint64_t seed, std::uint32_t compressible_percent);
  void fill(MutByteView payload);

 private:
  std::uint64_t next();

  std::uint64_t state_[2];
  std::size_t random_bytes_;  // of each block
};

}  // namespace hexad::tools
