// Load on a store for a while, and what it took: operations, latencies, processor time, counts.
#pragma once

#include <cstdint>
#include <functional>

#include "benchmarks/commit_path/kernel_counts.h"
#include "benchmarks/commit_path/pool.h"
#include "core/hexad.h"
#include "tools/bench/histogram.h"

namespace hexad::bench {

struct Load {
  double seconds = 1;
  unsigned threads = 1;
  unsigned in_flight = 1;  // over all threads; a multiple of them; of blocking callers: the threads
  std::uint64_t limit = ~std::uint64_t{0};  // transactions; ends earlier when they are through
};

struct Measured {
  std::uint64_t transactions = 0;
  double seconds = 0;
  double cpu_us = 0;         // of the whole process: the load's own work is in it
  tools::Histogram latency;  // nanoseconds, of transactions; empty when not measured
  Counts counts;
  KernelCounts kernel;  // of the whole process, too

  double per_second() const { return static_cast<double>(transactions) / seconds; }
};

// Fills in transaction `index`; payloads it borrows outlive the load. Called on the submitter's
// thread, each index once.
using FillTransaction = std::function<void(Transaction&, std::uint64_t index)>;

// Store::submit() from load.threads threads, load.in_flight transactions in flight over all.
Measured submit_for(Store& store, const Load& load, const FillTransaction& fill);

// One operation that blocks, index `index`, on thread `thread`.
using Operation = std::function<void(unsigned thread, std::uint64_t index)>;
enum class Latency : std::uint8_t {
  kMeasured,
  kNotMeasured,  // operations of nanoseconds, which a look at the clock would double
};
// load.threads threads, one operation at a time each.
Measured call_for(Store& store, const Load& load, const Operation& operation,
                  Latency latency = Latency::kMeasured);
// The same of what is no store: nothing is counted.
Measured call_for(const Load& load, const Operation& operation);
// Store::commit() from load.threads threads.
Measured commit_for(Store& store, const Load& load, const FillTransaction& fill);

}  // namespace hexad::bench
