// Keeps the benchmark library linked and its main() running.

#include <benchmark/benchmark.h>

#include "third_party/round_trip.h"

namespace {

void zstd_round_trip_1k(benchmark::State& state) {
  const std::string text(1024, 'x');
  for (auto _ : state) benchmark::DoNotOptimize(hexad::third_party::zstd_round_trip(text));
}
BENCHMARK(zstd_round_trip_1k);

}  // namespace
