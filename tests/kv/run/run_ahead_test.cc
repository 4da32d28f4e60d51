#include "kv/run/run_ahead.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "kv/run/run_merge_cursor.h"
#include "kv/run/run_set.h"
#include "tests/kv/run_model.h"

namespace hexad::kv {
namespace {

using namespace testing;

constexpr int kRuns = 8;

// Each with fifteen thousand keys of its own, and one that all have; indexes of two levels.
struct Runs {
  Runs() {
    std::vector<std::shared_ptr<RunReader>> readers;
    for (int run = 0; run < kRuns; ++run) {
      RunModel model;
      for (int i = 0; i < 15000; ++i) {
        model["key" + std::to_string(kRuns * i + run)] = std::to_string(run);
      }
      model["same"] = std::to_string(run);
      written.push_back(write_run(model, kRuns - 1 - run, kRuns - run));
      readers.push_back(written.back().open(cache));
    }
    set = std::make_shared<const RunSet>(std::move(readers), kRuns, 1);
    forget();
  }
  void forget() {
    for (const WrittenRun& run : written) run.file->reads = run.file->alone = run.file->rounds = 0;
  }
  std::uint64_t sum(std::atomic<std::uint64_t> MemoryRunFile::*count) const {
    std::uint64_t sum = 0;
    for (const WrittenRun& run : written) sum += (*run.file).*count;
    return sum;
  }
  std::uint64_t reads() const { return sum(&MemoryRunFile::reads); }
  std::uint64_t alone() const { return sum(&MemoryRunFile::alone); }
  std::uint64_t rounds() const { return sum(&MemoryRunFile::rounds); }

  MapRunCache cache{100000};
  std::vector<WrittenRun> written;
  std::shared_ptr<const RunSet> set;
};

TEST_CASE("run_ahead: a key is looked for in all runs at once, and its data read once") {
  Runs runs;
  const auto reader = runs.set->snapshot(runs.set);
  REQUIRE(*reader->get("key" + std::to_string(kRuns * 100 + kRuns - 1)) == "7");
  // Of every run the root and the filter, of the last one the leaf and the data.
  REQUIRE(runs.reads() == 2 * kRuns + 2);
  REQUIRE(runs.rounds() == 4);
  REQUIRE(runs.alone() == 0);
  runs.forget();
  // Of what all runs have the newest says it.
  REQUIRE(*reader->get("same") == "0");
  REQUIRE(runs.reads() <= kRuns + 2);  // other leaves
}

TEST_CASE(
    "run_ahead: with filters and indexes there a key costs its data, and an absent one nothing") {
  Runs runs;
  const auto reader = runs.set->snapshot(runs.set);
  for (int i = 0; i < 15000 * kRuns; i += 601) {
    REQUIRE(reader->get("key" + std::to_string(i)).ok());
  }
  runs.forget();
  std::uint64_t there = 0;
  for (int i = 0; i < 15000 * kRuns; i += 997) {
    REQUIRE(reader->get("key" + std::to_string(i))->has_value());
    ++there;
  }
  // Nearly every one is in a block of its own.
  REQUIRE(runs.reads() <= there * 110 / 100);
}

TEST_CASE("run_ahead: a seek reads of all runs at once") {
  for (int goal = 0; goal < 4; ++goal) {
    CAPTURE(goal);
    Runs runs;
    RunMergeCursor cursor(runs.set->runs());
    switch (goal) {
      case 0:
        REQUIRE(cursor.seek("key5").ok());
        break;
      case 1:
        REQUIRE(cursor.seek_before("key5").ok());
        break;
      case 2:
        REQUIRE(cursor.seek_to_first().ok());
        break;
      default:
        REQUIRE(cursor.seek_to_last().ok());
    }
    REQUIRE(cursor.valid());
    REQUIRE(runs.rounds() == 3);  // root, leaf, data
    REQUIRE(runs.reads() == 3 * kRuns + runs.alone());
    REQUIRE(runs.alone() <= 3);  // a key behind the last one of its block
  }
}

TEST_CASE("run_ahead: many keys are read in few rounds") {
  Runs runs;
  std::vector<std::string> names;
  for (int i = 0; i < 64; ++i) names.push_back("key" + std::to_string(i * 1777));
  const std::vector<std::string_view> keys(names.begin(), names.end());
  RunAhead(runs.set->runs()).get(keys);
  REQUIRE(runs.rounds() <= 6);  // two for what a filter let pass
  REQUIRE(runs.alone() == 0);
  runs.forget();
  const auto reader = runs.set->snapshot(runs.set);
  for (const std::string_view key : keys) REQUIRE(reader->get(key)->has_value());
  REQUIRE(runs.reads() == 0);
}

TEST_CASE("run_ahead: what cannot be read, or is not kept, is an affair of those who want it") {
  Runs runs;
  runs.cache.set_limit(0);
  const auto reader = runs.set->snapshot(runs.set);
  REQUIRE(*reader->get("key0") == "0");
  RunMergeCursor cursor(runs.set->runs());
  REQUIRE(cursor.seek("key1").ok());
  REQUIRE(cursor.key() == "key1");
  runs.written[0].file->fails = true;
  const std::string_view key = "key0";
  RunAhead(runs.set->runs()).get({&key, 1});
  REQUIRE(reader->get("key1").error().code == ErrorCode::kIo);
  REQUIRE(cursor.seek("key1").error().code == ErrorCode::kIo);
}

}  // namespace
}  // namespace hexad::kv
