#include "benchmarks/metadata/many_objects.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <semaphore>
#include <thread>

#include "base/units.h"
#include "benchmarks/commit_path/must.h"
#include "benchmarks/noise.h"
#include "core/hexad.h"
#include "io/rng.h"
#include "tools/bench/cpu_time.h"
#include "tools/bench/histogram.h"

namespace hexad::bench {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Filled, seconds, cpu_us, index_bytes, run_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Reopened, open_seconds, first_get_us, get_p50_us, get_p99_us,
                                   index_seconds, index_made, objects, replayed_log, most_resident,
                                   anonymous_memory, index_bytes, run_bytes)

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kTogether = 64;   // objects of a transaction
constexpr std::ptrdiff_t kInFlight = 16;  // transactions
constexpr std::uint64_t kGets = 20'000;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

PoolDescription pool_of(const ManyObjects& what) {
  PoolDescription pool;
  for (int i = 0; i < 6; ++i) {
    pool.devices.push_back((what.directory / fmt::format("device{}", i)).string());
  }
  pool.fast_directories = {(what.directory / "fast").string()};
  return pool;
}

// A file where the directory of the index would be.
void bar_index(const ManyObjects& what) {
  const std::filesystem::path index = what.directory / "fast" / "index";
  std::filesystem::remove_all(index);
  if (!(std::ofstream(index) << "in the way").flush()) die("cannot write " + index.string());
}

// Odd, so that no two indices have the same name.
std::string name_of(std::uint64_t index) {
  return fmt::format("{:016x}", index * 0x9e3779b97f4a7c15u);
}

ByteView value_of(const Bytes& data, std::uint64_t index) {
  return ByteView(data).subspan(index * 97 % (data.size() - ManyObjects::kObjectBytes),
                                ManyObjects::kObjectBytes);
}

// A line of /proc/self/status, in bytes.
std::uint64_t memory(const std::string& what) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(what + ":")) return std::stoull(line.substr(what.size() + 1)) * 1_KiB;
  }
  die("/proc/self/status has no " + what);
}

void must_hold(Store& store, const Bytes& data, std::uint64_t index) {
  const Bytes value = must(store.get(kDefaultCollection, name_of(index)));
  const ByteView expected = value_of(data, index);
  if (!std::equal(value.begin(), value.end(), expected.begin(), expected.end())) {
    die("object " + name_of(index) + " has other bytes than were put");
  }
}

template <typename T>
T from_json_text(const std::string& text, const char* failed) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) die(failed);
  return json.get<T>();
}

}  // namespace

void fill_and_die(const ManyObjects& what) {
  std::filesystem::create_directories(what.directory);
  FormatOptions options;
  options.devices = pool_of(what).devices;
  options.fast_directories = pool_of(what).fast_directories;
  options.device_size = what.device_size;
  const PoolDescription pool = must(Store::format(options));
  if (!what.index) bar_index(what);
  Store store = must(Store::open(pool));
  const Bytes data = noise(1_MiB);
  const double cpu_before = tools::cpu_us();
  const Clock::time_point start = Clock::now();
  std::counting_semaphore<kInFlight> free(kInFlight);
  const auto submit = [&](std::uint64_t from) {
    Transaction t;
    for (std::uint64_t i = from; i < from + kTogether; ++i) {
      t.put(kDefaultCollection, name_of(i), value_of(data, i), Hint::kIncompressible);
    }
    free.acquire();
    store.submit(std::move(t), [&free](const Result<Lsn>& lsn) {
      must(lsn.status());
      free.release();
    });
  };
  std::uint64_t next = 0;
  for (; next < what.count; next += kTogether) submit(next);
  for (std::ptrdiff_t i = 0; i < kInFlight; ++i) free.acquire();
  free.release(kInFlight);
  const auto count = [&](const std::string& name) {
    for (const Counter& counter : store.counters()) {
      if (counter.name == name) return counter.since_open;
    }
    die("the store has no counter " + name);
  };
  const double parity = 1.5;
  const double run_bytes =
      parity * static_cast<double>(count("device_run_bytes") + count("device_merge_bytes"));
  const Filled took{seconds_since(start), tools::cpu_us() - cpu_before, count("index_bytes"),
                    static_cast<std::uint64_t>(run_bytes)};
  std::printf("%s", nlohmann::json(took).dump().c_str());
  if (std::fflush(stdout) != 0) die("cannot say what it took");
  // All that was asked for is durable; these are cut off somewhere.
  for (std::ptrdiff_t i = 0; i < kInFlight; ++i, next += kTogether) submit(next);
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

Reopened open_again(const ManyObjects& what) {
  Reopened result;
  const Bytes data = noise(1_MiB);
  io::Rng rng(1);
  if (!what.index) bar_index(what);
  RuntimeOptions options;
  options.cache_size = 0;
  const Clock::time_point start = Clock::now();
  Store store = must(Store::open(pool_of(what), options));
  result.open_seconds = seconds_since(start);
  result.replayed_log = store.status().log_used;
  const Clock::time_point first = Clock::now();
  must_hold(store, data, rng.below(what.count));
  result.first_get_us = seconds_since(first) * 1e6;

  // Gets go on meanwhile, for half of the time.
  while (what.index && result.index_seconds == 0) {
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < 100; ++i) must_hold(store, data, rng.below(what.count));
    if (must(store.space()).metadata != 0) result.index_seconds = seconds_since(start);
    std::this_thread::sleep_for(Clock::now() - begin);
  }
  tools::Histogram gets;
  for (std::uint64_t i = 0; i < kGets; ++i) {
    const Clock::time_point begin = Clock::now();
    must_hold(store, data, rng.below(what.count));
    gets.add(static_cast<std::uint64_t>(seconds_since(begin) * 1e9));
  }
  result.get_p50_us = static_cast<double>(gets.percentile(50, 100)) / 1000;
  result.get_p99_us = static_cast<double>(gets.percentile(99, 100)) / 1000;
  for (const Counter& counter : store.counters()) {
    if (counter.name == "indexes_rebuilt") result.index_made = counter.since_open > 0;
  }
  result.objects = must(store.collection(kDefaultCollection)).objects;
  if (result.objects < what.count) {
    die(fmt::format("{} objects are there, {} were put", result.objects, what.count));
  }
  const SpaceUsage usage = must(store.space());
  result.index_bytes = usage.metadata;
  result.run_bytes = usage.internal_metadata;
  result.most_resident = memory("VmHWM");
  result.anonymous_memory = memory("RssAnon");
  must(store.close());
  return result;
}

Filled filled_from_json(const std::string& text) {
  return from_json_text<Filled>(text, "the process that fills the pool failed");
}

std::string to_json(const Reopened& reopened) { return nlohmann::json(reopened).dump(); }

Reopened reopened_from_json(const std::string& text) {
  return from_json_text<Reopened>(text, "a process of the benchmark failed");
}

}  // namespace hexad::bench
