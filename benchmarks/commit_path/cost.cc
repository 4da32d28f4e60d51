#include "benchmarks/commit_path/cost.h"

namespace hexad::bench {

Sample cost_of(const Measured& measured, double operations) {
  Sample sample;
  sample.cpu_us = measured.cpu_us / operations;
  if (measured.latency.count() == 0) return sample;
  const auto us = [&](std::uint64_t percent) {
    return static_cast<double>(measured.latency.percentile(percent, 100)) / 1000;
  };
  sample.p50_us = us(50);
  sample.p95_us = us(95);
  sample.p99_us = us(99);
  return sample;
}

}  // namespace hexad::bench
