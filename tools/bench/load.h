// Keeps a number of puts or gets in flight on a store until a deadline and measures them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/hexad.h"
#include "io/executor.h"
#include "tools/bench/histogram.h"

namespace hexad::tools {

struct LoadOptions {
  std::string collection;
  std::uint64_t object_size = 4096;  // bytes
  std::uint64_t objects = 1000;      // names cycle over this many
  std::uint32_t threads = 1;
  std::uint32_t depth = 1;  // in flight per thread
  std::uint32_t compressible_percent = 0;
  std::uint64_t seed = 0;
};

struct LoadResult {
  std::uint64_t operations = 0;  // completed before the deadline
  Histogram latency;             // nanoseconds, of these
  // Times that a put found no room because overwritten objects had not been released yet.
  std::uint64_t space_waits = 0;
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
  // The first error stops everybody.
  void fail(const Error& error);
  std::string next_name();
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
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> next_object_{0};
  std::atomic<std::uint64_t> operations_{0};
  io::Mutex mutex_;
  LoadResult result_;   // guarded by mutex_
  Status first_error_;  // guarded by mutex_
};

// The name of object `index` of a benchmark.
std::string bench_object_name(std::uint64_t index);

// Threads running one load; join() before destruction.
using LoadThreads = std::vector<std::unique_ptr<io::Thread>>;

// `threads` submitters, each with `depth` puts in flight through Store::submit(). Each put writes a
// whole object of new random bytes. No room is waited for, as long as other puts still get
// through.
LoadThreads start_puts(LoadShared& shared);
// threads x depth readers, one get at a time each. The objects exist.
LoadThreads start_gets(LoadShared& shared);

}  // namespace hexad::tools
