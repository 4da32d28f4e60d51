// What does it cost to truncate, to empty and to clone an object of very many pages, and how long
// does a put of another object wait meanwhile? In a store in memory; a byte in every MiB of the
// object. The argument is the number of pages. Time is that of the one commit; longest_put_ms: of a
// thread that puts a small object again and again, from then until 500 puts behind it, while what
// was cut off is taken back; rss_mib: the largest memory of the process so far, most of it the
// object's.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "base/units.h"
#include "benchmarks/must.h"
#include "core/hexad.h"

namespace {

using namespace hexad;
using bench::must;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kPageSpan = 1 << 20;
constexpr const char* kName = "sparse";

double ms_since(Clock::time_point began) {
  return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
}

Store sparse_store(std::uint64_t pages) {
  MemoryStoreOptions options;
  options.capacity = 4_GiB;
  Store store = must(Store::in_memory(options));
  for (std::uint64_t page = 0; page < pages;) {
    Transaction t;
    for (int i = 0; i < 4000 && page < pages; ++i, ++page) {
      t.write(kDefaultCollection, kName, page * kPageSpan, as_bytes(std::string_view("x")));
    }
    must(store.commit(std::move(t)));
  }
  return store;
}

template <typename Build>
void measure(benchmark::State& state, const Build& build) {
  const auto pages = static_cast<std::uint64_t>(state.range(0));
  double longest_put = 0;
  for (auto _ : state) {
    Store store = sparse_store(pages);
    std::atomic<bool> began = false;
    std::atomic<bool> done = false;
    std::thread other([&] {
      for (int behind = 0; behind < 500; behind += done ? 1 : 0) {
        const bool counts = began;
        const Clock::time_point put = Clock::now();
        Transaction t;
        t.put(kDefaultCollection, "other", "y");
        must(store.commit(std::move(t)));
        if (counts) longest_put = std::max(longest_put, ms_since(put));
      }
    });
    began = true;
    const Clock::time_point start = Clock::now();
    Transaction t;
    build(t, pages);
    must(store.commit(std::move(t)));
    state.SetIterationTime(ms_since(start) / 1000);
    done = true;
    other.join();
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["longest_put_ms"] = longest_put;
  state.counters["rss_mib"] = static_cast<double>(usage.ru_maxrss) / 1024;
}

void truncate(benchmark::State& state) {
  measure(state, [](Transaction& t, std::uint64_t) { t.truncate(kDefaultCollection, kName, 1); });
}

void zero(benchmark::State& state) {
  measure(state, [](Transaction& t, std::uint64_t pages) {
    t.zero(kDefaultCollection, kName, 1, (pages - 1) * kPageSpan);
  });
}

void clone(benchmark::State& state) {
  measure(state, [](Transaction& t, std::uint64_t) {
    t.clone(kDefaultCollection, kName, kDefaultCollection, "copy");
  });
}

// The largest takes seconds to make: only where somebody asks for it.
void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(1000)->Arg(50'000);
  if (std::getenv("PAGES_BENCH_LARGE") != nullptr) benchmark->Arg(500'000);
  benchmark->UseManualTime()->Iterations(1);
}

BENCHMARK(truncate)->Apply(sizes);
BENCHMARK(zero)->Apply(sizes);
BENCHMARK(clone)->Apply(sizes);

}  // namespace
