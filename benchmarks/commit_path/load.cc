#include "benchmarks/commit_path/load.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "benchmarks/commit_path/must.h"
#include "tools/bench/cpu_time.h"

namespace hexad::bench {

namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t nanoseconds(Clock::duration duration) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
}

// What the threads of one load share.
struct Shared {
  // `on` null: there is nothing that counts.
  Shared(Store* on, const Load& what)
      : store(on),
        load(what),
        before(on != nullptr ? counts(*on) : Counts()),
        kernel_before(kernel_counts()),
        cpu_before(tools::cpu_us()),
        start(Clock::now()),
        deadline(start + std::chrono::duration_cast<Clock::duration>(
                             std::chrono::duration<double>(what.seconds))) {}

  // Whether there is another transaction to do, and which. The first is done however late it is: on
  // a busy machine the deadline may pass before a thread has begun.
  bool next(std::uint64_t& index) {
    index = taken.fetch_add(1, std::memory_order_relaxed);
    if (index > 0 && Clock::now() >= deadline) return false;
    return index < load.limit;
  }
  // All threads have ended and nothing is in flight.
  void finish() {
    result.seconds = static_cast<double>(nanoseconds(Clock::now() - start)) / 1e9;
    result.cpu_us = tools::cpu_us() - cpu_before;
    result.kernel = kernel_counts() - kernel_before;
    if (store != nullptr) result.counts = counts(*store) - before;
    if (result.transactions == 0) die("a load got nothing done");
  }
  void merge(const tools::Histogram& latency, std::uint64_t transactions) {
    const std::lock_guard<std::mutex> lock(mutex);
    result.latency.merge(latency);
    result.transactions += transactions;
  }

  Store* store;
  const Load& load;
  const Counts before;
  const KernelCounts kernel_before;
  const double cpu_before;
  const Clock::time_point start;
  const Clock::time_point deadline;
  std::atomic<std::uint64_t> taken{0};
  std::mutex mutex;
  Measured result;  // guarded by mutex
};

void on_threads(unsigned count, const std::function<void(unsigned)>& run) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < count; ++i) threads.emplace_back(run, i);
  for (std::thread& thread : threads) thread.join();
}

// One submitting thread. Callbacks run on threads of the store, several at once. Who completes
// wakes the submitter only when it waits: a semaphore would spin, which is processor time in the
// figure.
class Submitter {
 public:
  Submitter(Shared& shared, unsigned in_flight)
      : shared_(shared), in_flight_(in_flight), free_(in_flight) {}

  void run(const FillTransaction& fill) {
    std::uint64_t index = 0;
    while (shared_.next(index)) {
      take(1);
      Transaction transaction;
      fill(transaction, index);
      const Clock::time_point started = Clock::now();
      shared_.store->submit(std::move(transaction), [this, started](const Result<Lsn>& lsn) {
        must(lsn.status());
        completed(Clock::now() - started);
      });
    }
    take(in_flight_);
    shared_.merge(latency_, latency_.count());
  }

 private:
  // Waits until `count` are free; they are not any more.
  void take(unsigned count) {
    std::unique_lock<std::mutex> lock(mutex_);
    wanted_ = count;
    changed_.wait(lock, [&] { return free_ >= count; });
    wanted_ = 0;
    free_ -= count;
  }
  void completed(Clock::duration latency) {
    const std::lock_guard<std::mutex> lock(mutex_);
    latency_.add(nanoseconds(latency));
    if (++free_ == wanted_) changed_.notify_one();
  }

  Shared& shared_;
  const unsigned in_flight_;
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned free_;             // guarded by mutex_, as all below
  unsigned wanted_ = 0;       // by the submitter, which waits; 0: it does not
  tools::Histogram latency_;  // nanoseconds
};

}  // namespace

Measured submit_for(Store& store, const Load& load, const FillTransaction& fill) {
  Shared shared(&store, load);
  std::vector<std::unique_ptr<Submitter>> submitters;
  for (unsigned i = 0; i < load.threads; ++i) {
    submitters.push_back(std::make_unique<Submitter>(shared, load.in_flight / load.threads));
  }
  on_threads(load.threads, [&](unsigned i) { submitters[i]->run(fill); });
  shared.finish();
  return std::move(shared.result);
}

namespace {

Measured call_on(Store* store, const Load& load, const Operation& operation, Latency latency) {
  Shared shared(store, load);
  // Looked at the clock once in so many operations.
  const std::uint64_t batch = latency == Latency::kMeasured ? 1 : 256;
  on_threads(load.threads, [&](unsigned thread) {
    tools::Histogram histogram;
    std::uint64_t done = 0;
    std::uint64_t index = 0;
    while (shared.next(index)) {
      if (latency == Latency::kMeasured) {
        const Clock::time_point started = Clock::now();
        operation(thread, index);
        histogram.add(nanoseconds(Clock::now() - started));
      } else {
        for (std::uint64_t i = 0; i < batch; ++i) operation(thread, index * batch + i);
      }
      done += batch;
    }
    shared.merge(histogram, done);
  });
  shared.finish();
  return std::move(shared.result);
}

}  // namespace

Measured call_for(Store& store, const Load& load, const Operation& operation, Latency latency) {
  return call_on(&store, load, operation, latency);
}

Measured call_for(const Load& load, const Operation& operation) {
  return call_on(nullptr, load, operation, Latency::kMeasured);
}

Measured commit_for(Store& store, const Load& load, const FillTransaction& fill) {
  return call_for(store, load, [&](unsigned, std::uint64_t index) {
    Transaction transaction;
    fill(transaction, index);
    must(store.commit(std::move(transaction)).status());
  });
}

}  // namespace hexad::bench
