// How fast are the two checksums, beside memcpy of the same bytes? Bytes per second of input.

#include <benchmark/benchmark.h>

#include <vector>

#include "base/aligned_buffer.h"
#include "base/checksum.h"
#include "benchmarks/noise.h"

namespace {

using namespace hexad;
using bench::noise;

void checksum_of(benchmark::State& state, ChecksumType type) {
  const Bytes bytes = noise(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(checksum(type, bytes));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}

void ceiling_memcpy(benchmark::State& state) {
  // Aligned: some processors copy an order of magnitude slower between addresses that differ by
  // little modulo a page, as two neighbours on the heap do.
  const Bytes source = noise(static_cast<std::size_t>(state.range(0)));
  AlignedBuffer bytes(source.size());
  copy_bytes(bytes.bytes(), source);
  AlignedBuffer copy(bytes.size());
  for (auto _ : state) {
    copy_bytes(copy.bytes(), bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}

BENCHMARK_CAPTURE(checksum_of, crc32c, ChecksumType::kCrc32c)->Arg(4096)->Arg(16384)->Arg(1 << 20);
BENCHMARK_CAPTURE(checksum_of, xxh3, ChecksumType::kXxh3)->Arg(4096)->Arg(16384)->Arg(1 << 20);
BENCHMARK(ceiling_memcpy)->Arg(4096)->Arg(16384)->Arg(1 << 20);

}  // namespace
