// Indexes on a fast tier that holds so many bytes and no more, without a file system of that size.
#pragma once

#include <cstdint>
#include <memory>

#include "io/executor.h"
#include "kv/index.h"

namespace hexad::bench {

// Bytes. An index that needs more does not fit, and blocks of the runs have their room then.
struct TierRoom {
  std::uint64_t index = 0;
  std::uint64_t blocks = 0;

  static TierRoom of(std::uint64_t bytes) { return {bytes, bytes}; }
  static TierRoom none() { return {}; }
  static TierRoom blocks_alone(std::uint64_t bytes) { return {0, bytes}; }
  static TierRoom without_end() { return of(std::uint64_t{1} << 40); }
};

// In directories of the operating system. `executor` outlives it.
std::unique_ptr<kv::IndexHome> make_tier_home(io::Executor& executor, const TierRoom& room);

}  // namespace hexad::bench
