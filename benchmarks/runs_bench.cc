// What does a store do that has no index, so that runs answer? Rates of puts and
// lengths of gets while it grows, and then what a look-up reads: pieces of runs by kind, and
// requests to devices, and how many names a second a listing of all has. Objects of 100 bytes,
// which lie in their records, or of --object-bytes, at random names, in transactions of 5000 or
// 1 MiB, beside checkpoints of 16 MiB. With a fast directory on a file system that is too small for
// the index, blocks of the runs are there in its place; with one that is large enough, the index,
// to compare with. doc/benchmarks.md has the figures.
//
// All files lie in a directory of their own under --dir, and are removed.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/units.h"
#include "benchmarks/must.h"
#include "benchmarks/noise.h"
#include "core/hexad.h"
#include "io/rng.h"

namespace {

using namespace hexad;
using bench::must;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kTogether = 5000;
constexpr std::uint64_t kBytesTogether = 1_MiB;
constexpr std::size_t kLookUps = 5000;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string name_of(std::uint64_t index) {
  return fmt::format("o/{:016x}", index * 0x9e3779b97f4a7c15u);
}

void must_be(const Status& status) {
  if (!status.ok()) must(Result<int>(status.error()));
}

class Counted {
 public:
  explicit Counted(Store& store) : store_(store) { take(); }
  // What was added to the counter since the last take(); 0 where there is no such counter.
  double since(std::string_view name) {
    for (const Counter& counter : store_.counters()) {
      if (counter.name != name) continue;
      const auto before = std::find_if(before_.begin(), before_.end(),
                                       [&](const Counter& one) { return one.name == name; });
      return static_cast<double>(counter.since_open - before->since_open);
    }
    return 0;
  }
  double requests() { return static_cast<double>(requests_now() - requests_); }
  void take() {
    before_ = store_.counters();
    requests_ = requests_now();
  }

 private:
  std::uint64_t requests_now() {
    std::uint64_t sum = 0;
    for (const DeviceStatus& device : store_.status().devices) sum += device.reads;
    return sum;
  }

  Store& store_;
  std::vector<Counter> before_;
  std::uint64_t requests_ = 0;
};

template <typename Act>
void look_up(Store& store, const char* what, const Act& act) {
  Counted counted(store);
  const Clock::time_point start = Clock::now();
  for (std::size_t i = 0; i < kLookUps; ++i) act(i);
  const double us = seconds_since(start) * 1e6;
  const auto each = [&](double sum) { return sum / kLookUps; };
  std::printf("| %-11s | %6.1f | %9.4f | %9.4f | %9.4f | %9.4f | %9.4f | %9.4f | %9.4f |\n", what,
              each(us), each(counted.since("run_filter_misses")),
              each(counted.since("run_index_misses")), each(counted.since("run_block_misses")),
              each(counted.since("run_block_hits") + counted.since("run_block_misses")),
              each(counted.since("data_reads")), each(counted.requests()),
              each(counted.since("run_resident_hits")));
}

// Until the index is there, or has been tried and given up.
void await_fast_tier(Store& store) {
  for (;;) {
    const StoreStatus status = store.status();
    if (status.metadata_on == "index") {
      std::printf("\nthe index answers\n");
      return;
    }
    for (const std::string& note : status.notes) {
      if (note.find("blocks of the runs") == std::string::npos) continue;
      std::printf("\n%s\n", note.c_str());
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// All names, in pages as large as they may be, twice: the first one may find less in memory.
void list(Store& store, std::uint64_t objects) {
  for (const char* which : {"first", "second"}) {
    ListOptions options;
    options.limit = kMaxListPage;
    std::uint64_t names = 0;
    const Clock::time_point start = Clock::now();
    for (bool more = true; more;) {
      const ListPage page = must(store.list(kDefaultCollection, options));
      names += page.entries.size();
      more = page.next.has_value();
      options.start_after = page.next.value_or("");
    }
    std::printf("%s listing: %.2f million names/s\n", which,
                static_cast<double>(names) / seconds_since(start) / 1e6);
    if (names != objects) std::printf("%llu names\n", static_cast<unsigned long long>(names));
  }
}

void measure(const std::filesystem::path& directory, const std::string& fast, std::uint64_t objects,
             std::uint64_t cache_size, std::uint64_t warm, std::uint64_t object_bytes) {
  FormatOptions format;
  for (int i = 0; i < 6; ++i) format.devices.push_back(directory / fmt::format("device{}", i));
  // Of what is not in its record a device has a quarter, and slabs beside.
  const std::uint64_t own = object_bytes > 1_KiB ? object_bytes / 2 : 0;
  format.device_size = std::max<std::uint64_t>(192_MiB, objects * (800 + own) / 1_MiB * 1_MiB);
  format.log_size = 16_MiB;
  if (!fast.empty()) format.fast_directories = {fast};
  const PoolDescription pool = must(Store::format(format));
  RuntimeOptions options;
  options.memtable_size = 16_MiB;
  options.cache_size = cache_size;
  const Bytes data = bench::noise(1_MiB + object_bytes);
  const std::uint64_t together =
      std::clamp<std::uint64_t>(kBytesTogether / object_bytes, 1, kTogether);
  io::Rng rng(1);
  {
    Store store = must(Store::open(pool, options));
    std::printf("| objects | puts/s | get, us |\n|---|---|---|\n");
    for (std::uint64_t next = 0; next < objects;) {
      const std::uint64_t end = std::min(objects, next + objects / 5);
      const std::uint64_t first = next;
      const Clock::time_point start = Clock::now();
      while (next < end) {
        Transaction t;
        for (const std::uint64_t last = std::min(end, next + together); next < last; ++next) {
          t.put(kDefaultCollection, name_of(next),
                ByteView(data).subspan(next * 97 % 1_MiB, object_bytes));
        }
        must(store.commit(std::move(t)));
      }
      const double rate = static_cast<double>(end - first) / seconds_since(start);
      must_be(store.checkpoint());
      const Clock::time_point gets = Clock::now();
      for (int i = 0; i < 1000; ++i) must(store.get(kDefaultCollection, name_of(rng.below(end))));
      std::printf("| %llu | %.0f | %.1f |\n", static_cast<unsigned long long>(end), rate,
                  seconds_since(gets) * 1e3);
      std::fflush(stdout);
    }
    must_be(store.close());
  }
  Store store = must(Store::open(pool, options));
  if (!fast.empty()) await_fast_tier(store);
  // Filters and index, which are what stays in memory.
  for (std::uint64_t i = 0; i < 20000; ++i) {
    must(store.exists(kDefaultCollection, name_of(objects + rng.below(1u << 30))));
  }
  for (std::uint64_t i = 0; i < warm; ++i) {
    must(store.stat(kDefaultCollection, name_of(rng.below(objects))));
  }
  std::printf(
      "\n| look-up | us | filters read | index read | blocks read | blocks asked for | rounds of "
      "user data | requests | found on the fast device |\n|---|---|---|---|---|---|---|---|---|\n");
  look_up(store, "stat",
          [&](std::size_t) { must(store.stat(kDefaultCollection, name_of(rng.below(objects)))); });
  look_up(store, "absent name", [&](std::size_t) {
    must(store.exists(kDefaultCollection, name_of(objects + rng.below(1u << 30))));
  });
  look_up(store, "get",
          [&](std::size_t) { must(store.get(kDefaultCollection, name_of(rng.below(objects)))); });
  list(store, objects);
  if (!fast.empty()) await_fast_tier(store);
  must_be(store.close());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures a store whose runs answer in place of the index.");
  std::string where = ".";
  std::uint64_t objects = 250'000;
  std::uint64_t cache_mib = 0;
  app.add_option("--dir", where, "for the files [.]");
  app.add_option("--objects", objects, "[250000]");
  app.add_option("--cache-mib", cache_mib, "cache_size, MiB [0]");
  std::uint64_t object_bytes = 100;
  app.add_option("--object-bytes", object_bytes, "of each object [100]")
      ->check(CLI::Range(1, 1 << 20));
  std::string fast;
  std::uint64_t warm = 5000;
  app.add_option("--fast", fast, "directory on a file system with or without room for the index");
  app.add_option("--warm", warm, "look-ups before those that are measured [5000]");
  CLI11_PARSE(app, argc, argv);
  const std::filesystem::path directory = std::filesystem::path(where) / "hexad-runs-bench";
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  measure(directory, fast, objects, cache_mib * 1_MiB, warm, object_bytes);
  std::filesystem::remove_all(directory);
  return 0;
}
