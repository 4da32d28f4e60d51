#include "kv/run/run_set.h"

#include <catch2/catch.hpp>

#include "kv/run/run_merge.h"
#include "tests/kv/index_contract.h"
#include "tests/kv/run_model.h"

namespace hexad::kv {
namespace {

using namespace testing;

// An index that is a set of runs: each batch is one more, and they are merged as planned.
class RunSetIndex final : public Index {
 public:
  Result<std::unique_ptr<IndexReader>> snapshot() override { return set_->snapshot(set_); }
  Status apply(Lsn lsn, Epoch epoch, std::span<const IndexChange> changes) override {
    WrittenRun run;
    RunWriter writer(*run.file, run_store(), set_->lsn(), lsn);
    for (const IndexChange& change : changes) HEXAD_TRY(writer.add(change.key, change.value));
    HEXAD_TRY_ASSIGN(run.info, writer.finish());
    std::vector<std::shared_ptr<RunReader>> runs = set_->runs();
    runs.insert(runs.begin(), run.open());
    while (const auto plan = plan_run_merge(sizes(runs), {.max_runs = 5})) {
      HEXAD_TRY(merge(runs, *plan));
    }
    most_runs_ = std::max(most_runs_, runs.size());
    set_ = std::make_shared<const RunSet>(std::move(runs), lsn, epoch);
    return {};
  }
  Lsn applied_lsn() const override { return set_->lsn(); }
  Epoch applied_epoch() const override { return set_->epoch(); }
  Result<IndexStats> stats() override { return IndexStats{}; }
  Status verify() override {
    for (const auto& run : set_->runs()) HEXAD_TRY(run->verify());
    return {};
  }
  const RunSet& set() const { return *set_; }
  std::size_t most_runs() const { return most_runs_; }

 private:
  static std::vector<std::uint64_t> sizes(const std::vector<std::shared_ptr<RunReader>>& runs) {
    std::vector<std::uint64_t> bytes;
    for (const auto& run : runs) bytes.push_back(run->info().bytes);
    return bytes;
  }
  static Status merge(std::vector<std::shared_ptr<RunReader>>& runs, const RunMergePlan& plan) {
    const auto first = runs.begin() + plan.first;
    const auto last = first + plan.count;
    const Lsn older = last[-1]->info().first_lsn;
    WrittenRun merged;
    RunWriter writer(*merged.file, run_store(), older, (*first)->info().last_lsn);
    HEXAD_TRY(merge_runs(std::span(runs).subspan(plan.first, plan.count),
                         last == runs.end() ? Tombstones::kDropped : Tombstones::kKept, writer));
    HEXAD_TRY_ASSIGN(merged.info, writer.finish());
    *first = merged.open();
    runs.erase(first + 1, last);
    return {};
  }

  std::shared_ptr<const RunSet> set_ =
      std::make_shared<const RunSet>(std::vector<std::shared_ptr<RunReader>>{}, 0, 0);
  std::size_t most_runs_ = 0;
};

TEST_CASE("run_set: layers of changes agree with a map, and merging them changes nothing") {
  const std::uint64_t seed = 31;
  CAPTURE(seed);
  io::Rng rng(seed);
  RunSetIndex index;
  IndexModel model;
  REQUIRE(difference(index, model) == "");
  for (Lsn lsn = 1; lsn <= 60; ++lsn) {
    CAPTURE(lsn);
    const IndexBatch batch = random_batch(rng, 20 + lsn % 3 * 100, lsn % 5 == 0 ? 20000 : 100);
    REQUIRE(apply(index, lsn, batch).ok());
    update(model, batch);
    REQUIRE(index.set().lsn() == lsn);
    if (lsn % 4 == 0) REQUIRE(difference(index, model) == "");
  }
  REQUIRE(index.verify().ok());
  REQUIRE(index.most_runs() >= 4);
  // Nothing but tombstones is left, until they meet the oldest run.
  IndexBatch all;
  for (const auto& [key, value] : model) all[key] = std::nullopt;
  REQUIRE(apply(index, 61, all).ok());
  REQUIRE(difference(index, {}) == "");
}

TEST_CASE("run_set: a cursor turns round anywhere, at both ends too") {
  const std::uint64_t seed = 32;
  CAPTURE(seed);
  io::Rng rng(seed);
  RunSetIndex index;
  IndexModel model;
  for (Lsn lsn = 1; lsn <= 8; ++lsn) {
    const IndexBatch batch = random_batch(rng, 300, 50);
    REQUIRE(apply(index, lsn, batch).ok());
    update(model, batch);
    require_cursor_turns(index, model, rng, 2000);
  }
}

// Few keys in many runs, so that nearly every key is in several and many are removed again.
TEST_CASE("run_set: a cursor turns round where all runs have the same keys") {
  const std::uint64_t seed = 33;
  CAPTURE(seed);
  io::Rng rng(seed);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::shared_ptr<RunReader>> runs;
    IndexModel model;
    for (int layer = 0; layer < 4; ++layer) {
      IndexBatch batch;
      for (int i = 0; i < 12; ++i) {
        std::optional<std::string>& value = batch["key" + std::to_string(rng.below(20))];
        value = rng.chance(1, 2) ? std::optional(std::to_string(layer)) : std::nullopt;
      }
      update(model, batch);
      runs.insert(runs.begin(), write_run(batch, layer, layer + 1).open());
    }
    const auto set = std::make_shared<const RunSet>(runs, 4, 2);
    const auto reader = set->snapshot(set);
    REQUIRE(difference(*reader, model) == "");
    const auto cursor = std::move(reader->cursor()).value();
    for (const auto& [key, value] : model) {
      // One forward and one back from everywhere.
      const auto at = model.find(key);
      REQUIRE(cursor->seek(key).ok());
      REQUIRE(cursor->value() == value);
      REQUIRE(cursor->prev().ok());
      REQUIRE(cursor->valid() == (at != model.begin()));
      if (cursor->valid()) {
        REQUIRE(cursor->key() == std::prev(at)->first);
        REQUIRE(cursor->next().ok());
        REQUIRE(cursor->key() == key);
        REQUIRE(cursor->value() == value);
      }
      REQUIRE(cursor->seek_before(key + '\0').ok());
      REQUIRE(cursor->key() == key);
      REQUIRE(cursor->next().ok());
      REQUIRE(cursor->valid() == (std::next(at) != model.end()));
      if (cursor->valid()) {
        REQUIRE(cursor->key() == std::next(at)->first);
        REQUIRE(cursor->prev().ok());
        REQUIRE(cursor->key() == key);
      }
    }
  }
}

TEST_CASE("run_set: a reader keeps its runs, says its LSN, and its values stay") {
  auto set = std::make_shared<const RunSet>(
      std::vector{write_run({{"a", "2"}, {"b", std::nullopt}}, 1, 2).open(),
                  write_run({{"a", "1"}, {"b", "1"}, {"c", std::string(100000, 'c')}}).open()},
      2, 7);
  const auto reader = set->snapshot(set);
  set.reset();
  REQUIRE(reader->applied_lsn() == 2);
  REQUIRE(reader->applied_epoch() == 7);
  const std::string_view a = **reader->get("a");
  const std::string_view c = **reader->get("c");
  for (int i = 0; i < 100; ++i) REQUIRE(reader->get("a")->has_value());
  REQUIRE(a == "2");
  REQUIRE(c == std::string(100000, 'c'));
  REQUIRE_FALSE(reader->get("b")->has_value());
  REQUIRE_FALSE(reader->get("d")->has_value());
  REQUIRE(reader->get("").error().code == ErrorCode::kInvalidArgument);
  REQUIRE(reader->get(std::string(kMaxIndexKey + 1, 'k')).error().code ==
          ErrorCode::kInvalidArgument);
}

TEST_CASE("run_set: a run that cannot be read is an error, never an older value") {
  const WrittenRun newer = write_run({{"a", "2"}}, 1, 2);
  const auto set = std::make_shared<const RunSet>(
      std::vector{newer.open(), write_run({{"a", "1"}, {"b", "1"}}).open()}, 2, 1);
  newer.file->fails = true;
  const auto reader = set->snapshot(set);
  REQUIRE(reader->get("a").error().code == ErrorCode::kIo);
  const auto cursor = std::move(reader->cursor()).value();
  REQUIRE(cursor->seek_to_first().error().code == ErrorCode::kIo);
  REQUIRE_FALSE(cursor->valid());
}

}  // namespace
}  // namespace hexad::kv
