// What does a page of names cost? Time per page of 1000 entries, of a collection of 10 k or 1 M
// objects with names of 24 bytes, 1000 to a directory; from the memtable, where everything is that
// was committed since the last checkpoint, put in order (0) or shuffled (2), or from the index (1).
// One thread, everything in memory.
//
//   page          names from somewhere in the middle on, up or down
//   all           all names, in pages as long as there are
//   directories   the same with a delimiter: 1000 common prefixes (10 of the small collection),
//                 each with 1000 names below it
//   deleted       the first 1000 names behind 100 k that were deleted since the last checkpoint, so
//                 that every one of them is passed
//   ceiling_walk  the bare cursor of the index over 1000 keys, 50 at a time
//
// Items are entries per second.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "benchmarks/must.h"
#include "core/metadata/list_page.h"
#include "core/metadata/metadata.h"
#include "core/record/record.h"
#include "io/executor.h"
#include "io/rng.h"
#include "kv/lmdb/lmdb_index.h"

namespace {

using namespace hexad;
using namespace hexad::core;
using bench::must;

constexpr CollectionId kCollection = 1;
constexpr std::uint64_t kPageEntries = 1000;
constexpr std::uint64_t kPerDirectory = 1000;

// Shuffled: a memtable whose names were put in no order.
enum From : std::int64_t { kMemtable, kIndex, kShuffled };
enum Order : std::int64_t { kUp, kDown };

std::string name_of(std::uint64_t number) {
  char name[64];
  std::snprintf(name, sizeof(name), "directory%06llu/%08llu",
                static_cast<unsigned long long>(number / kPerDirectory),
                static_cast<unsigned long long>(number));
  return name;
}

// A small object, its bytes in the record.
std::string record_of(std::uint64_t size) {
  ObjectRecord record;
  record.version = 1000;
  record.size = size;
  record.mtime = 1'700'000'000'000'000'000;
  Extent extent;
  extent.length = size;
  extent.bytes.assign(size, 'b');
  record.extents.push_back(std::move(extent));
  return encode_object(record, {});
}

class World {
 public:
  explicit World(std::uint64_t objects, bool shuffled = false) : objects_(objects) {
    const char* base = std::getenv("TEST_TMPDIR");
    directory_ = std::string(base != nullptr ? base : "/tmp") + "/hexad-list-bench-XXXXXX";
    if (::mkdtemp(directory_.data()) == nullptr) std::abort();
    kv::LmdbOptions options;
    options.dir = directory_ + "/index";
    index_ = must(kv::open_lmdb_index(options, *executor_));
    metadata_ = std::make_unique<Metadata>(*executor_, *index_);
    const std::string record = record_of(100);
    std::vector<std::uint64_t> numbers(objects_);
    std::iota(numbers.begin(), numbers.end(), 0);
    if (shuffled) std::shuffle(numbers.begin(), numbers.end(), std::mt19937_64(1));
    for (const std::uint64_t number : numbers) {
      metadata_->apply(++lsn_, object_key(kCollection, name_of(number)), record);
    }
  }
  ~World() {
    index_.reset();
    std::filesystem::remove_all(directory_);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void checkpoint() {
    const auto frozen = metadata_->freeze(lsn_);
    std::vector<kv::IndexChange> changes;
    kv::Memtable::Iterator it = frozen->iterate();
    for (it.seek_to_first(); it.valid(); it.next()) changes.push_back({it.key(), it.value()});
    if (!index_->apply(lsn_, 1, changes).ok()) std::abort();
    metadata_->drop_frozen();
  }
  void remove_first(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      metadata_->apply(++lsn_, object_key(kCollection, name_of(i)), std::nullopt);
    }
  }
  // What a page costs from taking a view to letting it go.
  ListPage page(const ListOptions& options) {
    const auto view = must(metadata_->view(lsn_));
    return must(list_page(*view, {kCollection, {}}, options));
  }
  kv::Index& index() { return *index_; }
  std::uint64_t objects() const { return objects_; }

 private:
  std::uint64_t objects_;
  std::string directory_;
  std::unique_ptr<io::Executor> executor_ = io::make_thread_executor(1);
  std::unique_ptr<kv::Index> index_;
  std::unique_ptr<Metadata> metadata_;
  Lsn lsn_ = 0;
};

// The last one is kept: every benchmark is called several times over.
World& world(std::int64_t from, std::int64_t objects) {
  static std::unique_ptr<World> kept;
  static std::int64_t kept_from = -1;
  if (kept == nullptr || kept_from != from ||
      kept->objects() != static_cast<std::uint64_t>(objects)) {
    kept.reset();
    kept = std::make_unique<World>(static_cast<std::uint64_t>(objects), from == kShuffled);
    kept_from = from;
    if (from == kIndex) kept->checkpoint();
  }
  return *kept;
}

void page(benchmark::State& state) {
  World& names = world(state.range(0), state.range(1));
  ListOptions options;
  options.limit = kPageEntries;
  options.reverse = state.range(2) == kDown;
  io::Rng rng(1);
  for (auto _ : state) {
    const std::uint64_t start = rng.below(names.objects() - 2 * kPageEntries) + kPageEntries;
    options.start_after = name_of(start);
    const ListPage found = names.page(options);
    if (found.entries.size() != kPageEntries) std::abort();
    const std::uint64_t last = options.reverse ? start - kPageEntries : start + kPageEntries;
    if (found.entries.back().name != name_of(last)) std::abort();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kPageEntries));
}

void all(benchmark::State& state) {
  World& names = world(state.range(0), state.range(1));
  std::uint64_t listed = 0;
  for (auto _ : state) {
    ListOptions options;
    options.limit = kMaxListPage;
    for (;;) {
      const ListPage found = names.page(options);
      listed += found.entries.size();
      if (!found.next.has_value()) break;
      options.start_after = *found.next;
    }
  }
  const auto expected = state.iterations() * static_cast<std::int64_t>(names.objects());
  if (listed != static_cast<std::uint64_t>(expected)) std::abort();
  state.SetItemsProcessed(expected);
}

void directories(benchmark::State& state) {
  World& names = world(state.range(0), state.range(1));
  ListOptions options;
  options.limit = kPageEntries;
  options.delimiter = "/";
  options.reverse = state.range(2) == kDown;
  const std::uint64_t expected = names.objects() / kPerDirectory;
  for (auto _ : state) {
    const ListPage found = names.page(options);
    if (found.entries.size() != expected || !found.entries[0].common_prefix) std::abort();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(expected));
}

void deleted(benchmark::State& state) {
  constexpr std::uint64_t kDeleted = 100'000;
  World names(kDeleted + kPageEntries);
  if (state.range(0) == kIndex) names.checkpoint();
  names.remove_first(kDeleted);
  if (state.range(1) != 0) names.checkpoint();
  ListOptions options;
  options.limit = kPageEntries;
  for (auto _ : state) {
    const ListPage found = names.page(options);
    if (found.entries.size() != kPageEntries) std::abort();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kPageEntries));
}

void ceiling_walk(benchmark::State& state) {
  World& names = world(kIndex, state.range(0));
  io::Rng rng(1);
  for (auto _ : state) {
    const auto reader = must(names.index().snapshot());
    const auto cursor = must(reader->cursor());
    const std::uint64_t start = rng.below(names.objects() - kPageEntries);
    if (!cursor->seek(object_key(kCollection, name_of(start))).ok()) std::abort();
    std::array<kv::KeyValue, 50> entries;
    for (std::uint64_t passed = 0; passed < kPageEntries;) {
      passed += must(cursor->advance(kv::Direction::kForward, entries));
      benchmark::DoNotOptimize(entries);
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kPageEntries));
}

BENCHMARK(page)
    ->ArgNames({"index", "objects", "down"})
    ->Args({kMemtable, 10'000, kUp})
    ->Args({kMemtable, 10'000, kDown})
    ->Args({kIndex, 10'000, kUp})
    ->Args({kIndex, 10'000, kDown})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(directories)
    ->ArgNames({"index", "objects", "down"})
    ->Args({kIndex, 10'000, kUp})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(ceiling_walk)->ArgName("objects")->Arg(10'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(page)
    ->ArgNames({"index", "objects", "down"})
    ->Args({kMemtable, 1'000'000, kUp})
    ->Args({kMemtable, 1'000'000, kDown})
    ->Args({kShuffled, 1'000'000, kUp})
    ->Args({kShuffled, 1'000'000, kDown})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(directories)
    ->ArgNames({"index", "objects", "down"})
    ->Args({kMemtable, 1'000'000, kUp})
    ->Args({kMemtable, 1'000'000, kDown})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(page)
    ->ArgNames({"index", "objects", "down"})
    ->Args({kIndex, 1'000'000, kUp})
    ->Args({kIndex, 1'000'000, kDown})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(all)
    ->ArgNames({"index", "objects"})
    ->Args({kIndex, 1'000'000})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(directories)
    ->ArgNames({"index", "objects", "down"})
    ->Args({kIndex, 1'000'000, kUp})
    ->Args({kIndex, 1'000'000, kDown})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(ceiling_walk)->ArgName("objects")->Arg(1'000'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(deleted)
    ->ArgNames({"index", "checkpointed"})
    ->Args({kMemtable, 0})
    ->Args({kIndex, 0})
    ->Args({kIndex, 1})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
