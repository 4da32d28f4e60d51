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

// A key, a small record, and what is checksummed of data.
void sizes(benchmark::internal::Benchmark* run) {
  for (const std::int64_t bytes : {24, 150, 4 << 10, 16 << 10, 1 << 20}) run->Arg(bytes);
}

BENCHMARK_CAPTURE(checksum_of, crc32c, ChecksumType::kCrc32c)->Apply(sizes);
BENCHMARK_CAPTURE(checksum_of, xxh3, ChecksumType::kXxh3)->Apply(sizes);
BENCHMARK(ceiling_memcpy)->Apply(sizes);

}  // namespace
