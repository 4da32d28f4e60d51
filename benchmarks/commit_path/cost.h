// What a load took, as part of a sample.
#pragma once

#include "benchmarks/commit_path/load.h"
#include "benchmarks/commit_path/report.h"

namespace hexad::bench {

// A sample without its value: processor time per operation, of `operations`, and the percentiles of
// the latencies where they were measured.
Sample cost_of(const Measured& measured, double operations);

}  // namespace hexad::bench
