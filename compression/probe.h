// A cheap look at a payload: is it worth the compressor's time?
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace hexad::compression {

// False only when the payload looks like noise: the byte values of a spread sample (at most 4 KiB)
// are close to evenly distributed, and LZ4 finds next to no repeats in the first 64 KiB.
// `required_ratio` in thousandths as in Policy. Noise that repeats itself only further in is taken
// for noise. Deterministic. Cost: 1 to 2 us, and 1 to 3 us more for noise (compression_bench.cc).
// Any thread.
bool looks_compressible(ByteView payload, std::uint32_t required_ratio);

}  // namespace hexad::compression
