// A cheap look at a payload: is it worth the compressor's time?
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace hexad::compression {

// False only when the payload looks like noise: the bytes of a spread sample are close to evenly
// distributed, and a fast search finds no repeats in its beginning. `required_ratio` in thousandths
// as in Policy. Deterministic. Cost: see benchmarks/compression_bench.cc; a sample of 4 KiB, and
// for what looks even, one pass of LZ4 over at most 64 KiB. Any thread.
bool looks_compressible(ByteView payload, std::uint32_t required_ratio);

}  // namespace hexad::compression
