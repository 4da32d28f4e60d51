// What a benchmark writes: random bytes, new for every operation, or a chosen part of them.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace hexad::tools {

// As fio with refill_buffers, buffer_compress_percentage and buffer_pattern=0xdeadface: of every
// 512 bytes, which is fio's default, the first (100 - percent) % are random, and the rest begins
// the bytes de ad fa ce anew. 0 is all random. One thread at a time. Cost: about 0.2 ns per random
// byte.
class PayloadGenerator {
 public:
  static constexpr std::size_t kBlockBytes = 512;

  PayloadGenerator(std::uint64_t seed, std::uint32_t compressible_percent);
  void fill(MutByteView payload);

 private:
  std::uint64_t next();

  std::uint64_t state_[2];
  std::size_t random_percent_;  // of each block
};

}  // namespace hexad::tools
