// Keeps a number of operations in flight on a store until a deadline and measures them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/hexad.h"
#include "io/executor.h"
#include "tools/bench/histogram.h"
#include "tools/bench/places.h"
#include "tools/bench/workload.h"

namespace hexad::tools {

struct LoadOptions {
  Workload workload = Workload::kPut;
  std::string collection;
  std::uint64_t block = 4096;        // bytes of each operation
  std::uint64_t object_size = 4096;  // bytes; that of a block where whole objects are moved
  std::uint64_t objects = 1000;
  std::uint32_t threads = 1;
  std::uint32_t depth = 1;          // in flight per thread
  std::uint32_t batch = 1;          // changes of one transaction
  double zipf = 0;                  // 0: none
  std::uint32_t read_percent = 50;  // of kRandRw
  std::uint32_t compressible_percent = 0;
  std::uint64_t seed = 0;
  Durability durability = Durability::kDurable;

  std::uint64_t blocks_per_object() const { return object_size / block; }
};

// Operations that completed before the deadline.
struct Tally {
  std::uint64_t operations = 0;
  Histogram latency;  // nanoseconds

  void add(io::Nanos nanoseconds) {
    ++operations;
    latency.add(static_cast<std::uint64_t>(nanoseconds));
  }
  void merge(const Tally& other) {
    operations += other.operations;
    latency.merge(other.latency);
  }
};

struct LoadResult {
  Tally looked;   // read, listed, asked
  Tally changed;  // put, written, deleted
  // Times that a change found no room because overwritten objects had not been released yet.
  std::uint64_t space_waits = 0;
  std::uint64_t entries = 0;  // of the pages of a listing

  Tally both() const {
    Tally result = looked;
    result.merge(changed);
    return result;
  }
  void merge(const LoadResult& other) {
    looked.merge(other.looked);
    changed.merge(other.changed);
    space_waits += other.space_waits;
    entries += other.entries;
  }
};

// What the threads of one load share. Any thread.
class LoadShared {
 public:
  LoadShared(Store& store, io::Executor& executor, LoadOptions options, io::Nanos deadline);

  Store& store() { return store_; }
  io::Executor& executor() { return executor_; }
  const LoadOptions& options() const { return options_; }
  io::Nanos now() { return executor_.clock().now(); }
  bool stopped() { return stop_.load(std::memory_order_relaxed) || now() >= deadline_; }
  io::Nanos deadline() const { return deadline_; }
  void stop() { stop_.store(true, std::memory_order_relaxed); }
  // There is nothing left to do.
  void use_up() {
    used_up_.store(true, std::memory_order_relaxed);
    stop();
  }
  bool used_up() const { return used_up_.load(std::memory_order_relaxed); }
  // The first error stops everybody.
  void fail(const Error& error);
  Places& places() { return places_; }
  void count_operation() { operations_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t operations() const { return operations_.load(std::memory_order_relaxed); }
  void merge(const LoadResult& part);
  // After all threads have ended. Errors: the first one of any thread.
  Result<LoadResult> result();

 private:
  Store& store_;
  io::Executor& executor_;
  const LoadOptions options_;
  const io::Nanos deadline_;
  Places places_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> used_up_{false};
  std::atomic<std::uint64_t> operations_{0};
  io::Mutex mutex_;
  LoadResult result_;   // guarded by mutex_
  Status first_error_;  // guarded by mutex_
};

// The name of object `index` of a benchmark.
std::string bench_object_name(std::uint64_t index);

// For so long no change at all has got through for want of space: it is really not there.
inline constexpr io::Nanos kSpacePatience = 10'000'000'000;
// What was overwritten is released once a later commit is durable: time for those in flight.
inline constexpr io::Nanos kSpacePause = 1'000'000;

// Threads running one load; join() before destruction.
using LoadThreads = std::vector<std::unique_ptr<io::Thread>>;

// Of the workload of the load's options. Payloads are new random bytes each time. Objects that are
// read or deleted exist. No room is waited for, as long as other changes still get through.
LoadThreads start_load(LoadShared& shared);

// Its two halves: `threads` submitters, each with `depth` in flight through Store::submit(); and
// threads x depth callers, one operation at a time each.
LoadThreads start_submitters(LoadShared& shared);
LoadThreads start_callers(LoadShared& shared);

}  // namespace hexad::tools
