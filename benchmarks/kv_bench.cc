// What do the memtable, the log's planning and the index cost? One thread. Times are per operation;
// keys are "obj/" and a number behind a prefix of 24 bytes, in random order, values 100 bytes.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/units.h"
#include "io/executor.h"
#include "io/memory_device.h"
#include "io/rng.h"
#include "kv/lmdb/lmdb_index.h"
#include "kv/log/log_scan.h"
#include "kv/log/log_writer.h"
#include "kv/memory/memtable.h"
#include "kv/run/run_merge.h"
#include "kv/run/run_writer.h"
#include "tests/io/temporary.h"
#include "tests/kv/run_model.h"

namespace {

using namespace hexad;
using namespace hexad::kv;

std::string key_of(std::uint64_t number) {
  char key[64];
  std::snprintf(key, sizeof(key), "collection/0001/objects/obj/%012llu",
                static_cast<unsigned long long>(number * 0x9e3779b97f4a7c15u >> 24));
  return key;
}

std::vector<std::string> keys(std::uint64_t count) {
  std::vector<std::string> all;
  for (std::uint64_t i = 0; i < count; ++i) all.push_back(key_of(i));
  return all;
}

const std::string kValue(100, 'v');

void apply_all(Memtable& table, const std::vector<std::string>& keys_in_order) {
  Lsn lsn = 0;
  for (const std::string& key : keys_in_order) table.apply(++lsn, key, kValue);
}

// What a new key costs when `n` are there.
void memtable_apply(benchmark::State& state) {
  const std::vector<std::string> all = keys(static_cast<std::uint64_t>(state.range(0)));
  std::uint64_t bytes = 0;
  for (auto _ : state) {
    Memtable table;
    apply_all(table, all);
    bytes = table.bytes();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * all.size()));
  state.counters["bytes_per_key"] = static_cast<double>(bytes) / static_cast<double>(all.size());
}

void memtable_get(benchmark::State& state) {
  const std::vector<std::string> all = keys(static_cast<std::uint64_t>(state.range(0)));
  Memtable table;
  apply_all(table, all);
  io::Rng rng(1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(table.get(all[rng.below(all.size())]));
  }
  state.SetItemsProcessed(state.iterations());
}

void memtable_walk(benchmark::State& state) {
  const std::vector<std::string> all = keys(static_cast<std::uint64_t>(state.range(0)));
  Memtable table;
  apply_all(table, all);
  for (auto _ : state) {
    std::uint64_t bytes = 0;
    auto it = table.iterate();
    for (it.seek_to_first(); it.valid(); it.next()) bytes += it.key().size();
    benchmark::DoNotOptimize(bytes);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * all.size()));
}

// The structure that the memtable's tree was chosen against.
void map_apply(benchmark::State& state) {
  const std::vector<std::string> all = keys(static_cast<std::uint64_t>(state.range(0)));
  for (auto _ : state) {
    std::map<std::string, std::string, std::less<>> table;
    for (const std::string& key : all) table.emplace(key, kValue);
    benchmark::DoNotOptimize(table.size());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * all.size()));
}

void map_get(benchmark::State& state) {
  const std::vector<std::string> all = keys(static_cast<std::uint64_t>(state.range(0)));
  std::map<std::string, std::string, std::less<>> table;
  for (const std::string& key : all) table.emplace(key, kValue);
  io::Rng rng(1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(table.find(std::string_view(all[rng.below(all.size())])));
  }
  state.SetItemsProcessed(state.iterations());
}

// Three copies of a log of 64 MiB, in memory, and records of one size for it.
struct Log {
  explicit Log(std::int64_t record_size) : record(static_cast<std::size_t>(record_size), 'r') {
    for (int i = 0; i < 3; ++i) {
      devices.push_back(io::make_memory_device("log", 64_MiB, *queue).value());
      areas.push_back({devices.back().get(), 0, 64_MiB});
    }
    LogWriterOptions options;
    options.areas = areas;
    writer.emplace(LogWriter::create(std::move(options)).value());
  }
  // A block with one record.
  Result<PreparedBlock> prepare() {
    const std::string_view records[] = {record};
    return writer->prepare(writer->next_lsn(), records, 0);
  }

  const std::string record;
  const std::unique_ptr<io::IoQueue> queue = io::make_memory_queue();
  std::vector<std::unique_ptr<io::Device>> devices;
  std::vector<LogArea> areas;
  std::optional<LogWriter> writer;
};

// Planning and encoding one block with one record of this size, for three copies.
void log_prepare(benchmark::State& state) {
  Log log(state.range(0));
  for (auto _ : state) {
    Result<PreparedBlock> block = log.prepare();
    if (!block.ok()) std::abort();
    benchmark::DoNotOptimize(block->requests.data());
    log.writer->trim(block->point());
  }
  state.SetItemsProcessed(state.iterations());
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

// The same, and its three copies written: what is left of an append when a device is memory.
void log_append(benchmark::State& state) {
  Log log(state.range(0));
  for (auto _ : state) {
    Result<PreparedBlock> block = log.prepare();
    if (!block.ok()) std::abort();
    for (const io::IoRequest& request : block->requests) {
      if (!request.device->write(request.offset, {request.data, request.length}).ok()) std::abort();
    }
    log.writer->trim(block->point());
  }
  state.SetItemsProcessed(state.iterations());
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

// Finding the blocks of three full copies of 64 MiB; bytes read.
void log_scan_copies(benchmark::State& state) {
  Log log(state.range(0));
  std::size_t blocks = 0;
  for (;; ++blocks) {
    Result<PreparedBlock> block = log.prepare();
    if (!block.ok()) break;
    for (const io::IoRequest& request : block->requests) {
      if (!request.device->write(request.offset, {request.data, request.length}).ok()) std::abort();
    }
  }
  for (auto _ : state) {
    const Result<LogScan> scan = scan_log(log.areas, LogScanOptions{});
    if (!scan.ok() || scan->blocks.size() != blocks) std::abort();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * 3 * 64_MiB));
}

class IndexWorld {
 public:
  IndexWorld() {
    LmdbOptions options;
    options.dir = directory_.path("index");
    index = open_lmdb_index(options, *executor_).value();
  }
  // One checkpoint of sorted new keys.
  void load(std::uint64_t count) {
    std::map<std::string, std::string> sorted;
    for (std::uint64_t i = 0; i < count; ++i) sorted[key_of(i)] = kValue;
    std::vector<IndexChange> changes;
    for (const auto& [key, value] : sorted) changes.push_back({key, value});
    if (!index->apply(index->applied_lsn() + 1, 1, changes).ok()) std::abort();
  }

 private:
  io::testing::TemporaryDirectory directory_;
  std::unique_ptr<io::Executor> executor_ = io::make_thread_executor(1);

 public:
  std::unique_ptr<Index> index;
};

void index_apply(benchmark::State& state) {
  for (auto _ : state) {
    IndexWorld world;
    world.load(static_cast<std::uint64_t>(state.range(0)));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// What a checkpoint hands to an index of 100 k keys: so many of them anew, in order, with the
// syncs.
void index_checkpoint(benchmark::State& state) {
  constexpr std::uint64_t kKeys = 100'000;
  IndexWorld world;
  world.load(kKeys);
  io::Rng rng(1);
  for (auto _ : state) {
    state.PauseTiming();
    std::map<std::string, std::string> sorted;
    while (sorted.size() < static_cast<std::size_t>(state.range(0))) {
      sorted[key_of(rng.below(kKeys))] = kValue;
    }
    std::vector<IndexChange> changes;
    for (const auto& [key, value] : sorted) changes.push_back({key, value});
    state.ResumeTiming();
    if (!world.index->apply(world.index->applied_lsn() + 1, 1, changes).ok()) std::abort();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// What a checkpoint of 100 k of a million keys costs when the index is cut by ranges of keys into
// so many environments, written by so many threads (doc/decisions/019-one-environment.md).
void index_shards(benchmark::State& state) {
  constexpr std::uint64_t kKeys = 1'000'000;
  constexpr std::uint64_t kChanged = 100'000;
  const auto shards = static_cast<std::size_t>(state.range(0));
  const auto threads = static_cast<std::size_t>(state.range(1));
  std::vector<std::string> all = keys(kKeys);
  std::sort(all.begin(), all.end());
  std::vector<IndexWorld> worlds(shards);
  // Changes of the keys whose numbers are in `which`, ascending, by the shards that have them.
  const auto apply = [&](const std::vector<std::uint64_t>& which) {
    std::vector<std::vector<IndexChange>> changes(shards);
    for (const std::uint64_t i : which) changes[i * shards / kKeys].push_back({all[i], kValue});
    const auto work = [&](std::size_t first) {
      for (std::size_t i = first; i < shards; i += threads) {
        Index& index = *worlds[i].index;
        if (!index.apply(index.applied_lsn() + 1, 1, changes[i]).ok()) std::abort();
      }
    };
    std::vector<std::thread> others;
    for (std::size_t t = 1; t < threads; ++t) others.emplace_back(work, t);
    work(0);
    for (std::thread& other : others) other.join();
  };
  std::vector<std::uint64_t> every(kKeys);
  for (std::uint64_t i = 0; i < kKeys; ++i) every[i] = i;
  apply(every);
  io::Rng rng(1);
  for (auto _ : state) {
    state.PauseTiming();
    std::set<std::uint64_t> some;
    while (some.size() < kChanged) some.insert(rng.below(kKeys));
    const std::vector<std::uint64_t> which(some.begin(), some.end());
    state.ResumeTiming();
    apply(which);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kChanged));
}

// One snapshot and one get each, as a read of one object does.
void index_get(benchmark::State& state) {
  IndexWorld world;
  world.load(static_cast<std::uint64_t>(state.range(0)));
  io::Rng rng(1);
  for (auto _ : state) {
    const auto reader = world.index->snapshot();
    const auto found =
        (*reader)->get(key_of(rng.below(static_cast<std::uint64_t>(state.range(0)))));
    if (!found.ok() || !found->has_value()) std::abort();
  }
  state.SetItemsProcessed(state.iterations());
}

void index_walk(benchmark::State& state) {
  IndexWorld world;
  world.load(static_cast<std::uint64_t>(state.range(0)));
  for (auto _ : state) {
    const auto reader = world.index->snapshot();
    const auto cursor = (*reader)->cursor();
    std::int64_t count = 0;
    if (!(*cursor)->seek_to_first().ok()) std::abort();
    while ((*cursor)->valid()) {
      ++count;
      if (!(*cursor)->next().ok()) std::abort();
    }
    if (count != state.range(0)) std::abort();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// Four runs are merged into one, each of so many names with values of 114 B, of which 24 are noise,
// beside 1,100 keys that each of them has. In memory.
enum class Names : std::uint8_t { kAscending, kInNoOrder };
constexpr std::uint64_t kMergedRuns = 4;
constexpr std::uint64_t kInEachRun = 1100;

std::string name_to_merge(std::uint64_t number, Names names) {
  if (names == Names::kInNoOrder) return key_of(number);
  char key[64];
  std::snprintf(key, sizeof(key), "collection/0001/objects/obj/%012llu",
                static_cast<unsigned long long>(number));
  return key;
}

testing::WrittenRun run_to_merge(std::uint64_t index, std::uint64_t count, Names names) {
  io::Rng rng(index + 1);
  testing::RunModel model;
  const auto value = [&] { return testing::random_bytes(rng, 24) + std::string(90, 'v'); };
  for (std::uint64_t i = 0; i < count; ++i) {
    model[name_to_merge(index * count + i, names)] = value();
  }
  for (std::uint64_t i = 0; i < kInEachRun; ++i) model["totals/" + std::to_string(i)] = value();
  return testing::write_run(model, index, index + 1);
}

void merge_four_runs(benchmark::State& state, Names names) {
  const auto count = static_cast<std::uint64_t>(state.range(0));
  std::vector<std::shared_ptr<RunReader>> newest_first;
  for (std::uint64_t i = 0; i < kMergedRuns; ++i) {
    newest_first.insert(newest_first.begin(), run_to_merge(i, count, names).open());
  }
  std::uint64_t bytes = 0;
  std::uint64_t taken_over = 0;
  for (auto _ : state) {
    testing::MemoryRunFile file;
    RunWriter writer(file, testing::run_store(), 0, kMergedRuns);
    if (!merge_runs(newest_first, Tombstones::kDropped, writer).ok()) std::abort();
    const Result<RunInfo> info = writer.finish();
    if (!info.ok() || info->entries != kMergedRuns * count + kInEachRun) std::abort();
    bytes = info->bytes;
    taken_over = writer.taken_over();
  }
  const double entries = static_cast<double>(kMergedRuns * (count + kInEachRun));
  state.counters["time_per_entry"] = benchmark::Counter(
      entries, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["bytes"] = static_cast<double>(bytes);
  state.counters["taken_over"] = static_cast<double>(taken_over) / static_cast<double>(bytes);
}
BENCHMARK_CAPTURE(merge_four_runs, names_that_ascend, Names::kAscending)
    ->Arg(250'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(merge_four_runs, names_in_no_order, Names::kInNoOrder)
    ->Arg(250'000)
    ->Unit(benchmark::kMillisecond);

BENCHMARK(memtable_apply)->Arg(10'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(memtable_get)->Arg(10'000)->Arg(1'000'000);
BENCHMARK(memtable_walk)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(map_apply)->Arg(10'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(map_get)->Arg(10'000)->Arg(1'000'000);
BENCHMARK(log_prepare)->Arg(200)->Arg(4'096)->Arg(65'536)->Arg(1'048'576);
BENCHMARK(log_append)->Arg(200)->Arg(4'096)->Arg(65'536)->Arg(1'048'576);
BENCHMARK(log_scan_copies)->Arg(200)->Arg(65'536)->Unit(benchmark::kMillisecond);
BENCHMARK(index_apply)->Arg(100'000)->Unit(benchmark::kMillisecond);
BENCHMARK(index_checkpoint)
    ->Arg(100)
    ->Arg(1'000)
    ->Arg(10'000)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(index_shards)
    ->Args({1, 1})
    ->Args({4, 1})
    ->Args({4, 2})
    ->Args({16, 2})
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK(index_get)->Arg(100'000);
BENCHMARK(index_walk)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
