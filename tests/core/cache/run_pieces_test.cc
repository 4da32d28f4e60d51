// Pieces of runs in the read cache, beside records and user bytes.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "core/cache/read_cache.h"
#include "io/rng.h"
#include "kv/run/run_merge.h"
#include "kv/run/run_set.h"
#include "kv/tiered/tiered_index.h"
#include "tests/kv/index_contract.h"
#include "tests/kv/run_model.h"

namespace hexad::core {
namespace {

using namespace hexad::kv::testing;
using kv::RunPieceKind;
using Asking = kv::RunCache::Asking;

kv::RunPiece piece(std::size_t bytes) {
  return kv::RunFilter::parse(std::string(bytes, '\xff')).value();
}

std::size_t kind(RunPieceKind of) { return static_cast<std::size_t>(of); }

struct Fixture {
  std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
};

TEST_CASE("run pieces: hits and misses are counted for each kind, and not of who looks ahead") {
  Fixture f;
  ReadCache cache(*f.executor, 32_MiB);
  const std::uint64_t run = cache.new_run();
  REQUIRE(cache.new_run() != run);
  for (const RunPieceKind of : {RunPieceKind::kFilter, RunPieceKind::kIndex, RunPieceKind::kData}) {
    REQUIRE(cache.find({of, run, 7}, Asking::kCounted) == nullptr);
    const auto kept = cache.keep({of, run, 7}, piece(100), kv::RunAdmit::kAll);
    REQUIRE(cache.find({of, run, 7}, Asking::kCounted) == kept);
    REQUIRE(cache.find({of, run, 7}, Asking::kQuiet) == kept);
    REQUIRE(cache.find({of, run, 8}, Asking::kCounted) == nullptr);
    REQUIRE(cache.find({of, run + 1, 7}, Asking::kCounted) == nullptr);
  }
  const ReadCache::Tally tally = cache.take_tally();
  for (const RunPieceKind of : {RunPieceKind::kFilter, RunPieceKind::kIndex, RunPieceKind::kData}) {
    REQUIRE(tally.run_hits[kind(of)] == 1);
    REQUIRE(tally.run_misses[kind(of)] == 1);
  }
  REQUIRE(cache.usage().runs > 300);
  REQUIRE(cache.usage().records == 0);
  cache.check_invariants();
}

TEST_CASE("run pieces: they share the capacity, and where that is small they have their own") {
  Fixture f;
  const std::uint64_t capacity = GENERATE(0, 1_MiB, 64_MiB);
  ReadCache cache(*f.executor, capacity);
  const std::uint64_t run = cache.new_run();
  const auto fill = [&] {
    for (std::uint64_t i = 0; i < 8000; ++i) {
      cache.keep({RunPieceKind::kData, run, i}, piece(16000), kv::RunAdmit::kAll);
      cache.insert_block({1, 0, static_cast<std::uint32_t>(i)}, Bytes(8000));
    }
    cache.check_invariants();
  };
  fill();
  ReadCache::Usage usage = cache.usage();
  REQUIRE(usage.total <= capacity);
  REQUIRE(usage.runs > 12_MiB);
  if (capacity < ReadCache::kLeastForRuns) {
    REQUIRE(usage.runs <= ReadCache::kLeastForRuns);
  } else {
    REQUIRE(usage.runs + usage.blocks > capacity * 9 / 10);
    REQUIRE(usage.blocks > capacity / 8);
  }
  if (capacity == 0) return;
  cache.set_capacity(0);
  usage = cache.usage();
  REQUIRE(usage.blocks + usage.records == 0);
  REQUIRE(usage.runs <= ReadCache::kLeastForRuns);
  fill();
  REQUIRE(cache.usage().blocks == 0);
  REQUIRE(cache.usage().runs > 12_MiB);
  REQUIRE(cache.usage().runs <= ReadCache::kLeastForRuns);
  cache.set_capacity(64_MiB);
  fill();
  REQUIRE(cache.usage().runs + cache.usage().blocks > 48_MiB);
  REQUIRE(cache.usage().total <= 64_MiB);
}

TEST_CASE("run pieces: walks take nothing away from what is asked for again and again") {
  Fixture f;
  ReadCache cache(*f.executor, 0);
  const std::uint64_t run = cache.new_run();
  const auto hot = [&](std::uint64_t i) { return kv::RunPieceKey{RunPieceKind::kFilter, run, i}; };
  for (std::uint64_t i = 0; i < 200; ++i) cache.keep(hot(i), piece(26000), kv::RunAdmit::kAll);
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t i = 0; i < 200; ++i) cache.find(hot(i), Asking::kCounted);
  }
  for (std::uint64_t i = 0; i < 20000; ++i) {
    cache.keep({RunPieceKind::kData, run, i}, piece(20000),
               i % 2 == 0 ? kv::RunAdmit::kAll : kv::RunAdmit::kReadBefore);
  }
  std::uint64_t left = 0;
  for (std::uint64_t i = 0; i < 200; ++i) left += cache.find(hot(i), Asking::kQuiet) != nullptr;
  REQUIRE(left >= 195);
  cache.check_invariants();
}

// The index of a store whose fast tier is gone, merged now and then, against a plain map.
class MergedRuns {
 public:
  explicit MergedRuns(ReadCache& cache) : cache_(cache) {}

  void add(Lsn lsn, const IndexBatch& batch) {
    WrittenRun run;
    kv::RunWriter writer(*run.file, run_store(), lsn - 1, lsn, kv::RunFilterBits::kUsual);
    for (const auto& [key, value] : batch) {
      REQUIRE(
          writer
              .add(key, value.has_value() ? std::optional<std::string_view>(*value) : std::nullopt)
              .ok());
    }
    run.info = writer.finish().value();
    runs_.insert(runs_.begin(), run.open(cache_));
    advance(lsn);
  }
  // Those of `count` runs from `first` on become one, with the LSNs of the newest.
  void merge(std::size_t first, std::size_t count) {
    const auto from = runs_.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = from + static_cast<std::ptrdiff_t>(count);
    WrittenRun run;
    kv::RunWriter writer(*run.file, run_store(), end[-1]->info().first_lsn,
                         from[0]->info().last_lsn);
    REQUIRE(kv::merge_runs(std::span(runs_).subspan(first, count),
                           end == runs_.end() ? kv::Tombstones::kDropped : kv::Tombstones::kKept,
                           writer)
                .ok());
    run.info = writer.finish().value();
    *from = run.open(cache_);
    runs_.erase(from + 1, end);
    advance(lsn_);
  }
  std::size_t count() const { return runs_.size(); }
  kv::TieredIndex& index() { return index_; }

 private:
  void advance(Lsn lsn) {
    lsn_ = lsn;
    index_.advance(std::make_shared<const kv::RunSet>(runs_, lsn, 1));
  }

  ReadCache& cache_;
  std::vector<std::shared_ptr<kv::RunReader>> runs_;
  Lsn lsn_ = 0;
  kv::TieredIndex index_{
      run_executor(),
      std::make_shared<const kv::RunSet>(std::vector<std::shared_ptr<kv::RunReader>>(), 0, 0),
      nullptr};
};

TEST_CASE("run pieces: the index agrees with a map while runs merge and the cache comes and goes") {
  const std::uint64_t seed = GENERATE(1, 2);
  const std::uint64_t least = GENERATE(0, 1_MiB);
  CAPTURE(seed, least);
  io::Rng rng(seed);
  Fixture f;
  ReadCache cache(*f.executor, 2_MiB, 16384, least);
  MergedRuns runs(cache);
  IndexModel model;
  std::vector<std::pair<std::unique_ptr<kv::IndexReader>, IndexModel>> readers;
  for (Lsn lsn = 1; lsn <= 60; ++lsn) {
    CAPTURE(lsn);
    const IndexBatch batch = random_batch(rng, 20 + rng.below(300), rng.chance(1, 5) ? 20000 : 100);
    runs.add(lsn, batch);
    update(model, batch);
    while (runs.count() > 4 && rng.chance(2, 3)) {
      const std::size_t count = 2 + rng.below(runs.count() - 2);
      runs.merge(rng.below(runs.count() - count + 1), count);
    }
    if (rng.chance(1, 3)) cache.set_capacity(rng.chance(1, 2) ? 0 : rng.below(8_MiB));
    if (rng.chance(1, 6)) readers.emplace_back(runs.index().snapshot().value(), model);
    if (readers.size() > 3) readers.erase(readers.begin());
    if (lsn % 6 == 0) REQUIRE(difference(runs.index(), model) == "");
    for (int i = 0; i < 100; ++i) {
      auto& [reader, then] =
          readers.empty()
              ? *(readers.emplace(readers.end(), runs.index().snapshot().value(), model))
              : readers[rng.below(readers.size())];
      const std::string key = then.empty() || rng.chance(1, 3)
                                  ? hexad::kv::testing::adversarial_key(rng)
                                  : std::next(then.begin(), rng.below(then.size()))->first;
      const auto expected = then.find(key);
      const auto found = reader->get(key);
      REQUIRE(found.ok());
      REQUIRE(found->has_value() == (expected != then.end()));
      if (found->has_value()) REQUIRE(**found == expected->second);
    }
    cache.check_invariants();
  }
  for (const auto& [reader, then] : readers) REQUIRE(difference(*reader, then) == "");
}

}  // namespace
}  // namespace hexad::core
