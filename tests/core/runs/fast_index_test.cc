#include "core/runs/fast_index.h"

#include <catch2/catch.hpp>

#include "core/record/keys.h"
#include "kv/memory/memory_index.h"
#include "kv/run/run_merge.h"
#include "tests/kv/index_contract.h"
#include "tests/kv/run_model.h"

namespace hexad::core {
namespace {

using kv::testing::IndexBatch;
using kv::testing::RunModel;

constexpr Epoch kEpoch = 4;

struct Fixture {
  Fixture() {
    runs.insert(runs.begin(), kv::testing::write_run(first, 0, 10).open());
    runs.insert(runs.begin(), kv::testing::write_run(second, 10, 20).open());
  }
  kv::RunSet set() const { return {runs, runs.front()->info().last_lsn, kEpoch}; }
  // An index as of the first `count` runs.
  void make(int count, Epoch epoch = kEpoch) {
    const auto index = home->open("index", kv::testing::run_store(), io::OpenMode::kReadWrite);
    REQUIRE(index.ok());
    if (count > 0) put(**index, first, 10, epoch);
    if (count > 1) put(**index, second, 20, epoch);
  }
  static void put(kv::Index& index, const RunModel& model, Lsn lsn, Epoch epoch) {
    std::vector<kv::IndexChange> changes;
    for (const auto& [key, value] : model) {
      changes.push_back(
          {key, value.has_value() ? std::optional<std::string_view>(*value) : std::nullopt});
    }
    REQUIRE(index.apply(lsn, epoch, changes).ok());
  }
  FastIndex open(io::OpenMode mode = io::OpenMode::kReadWrite) {
    return open_fast_index(*home, "index", kv::testing::run_store(), mode, set(), writer).value();
  }
  std::string difference(kv::Index& index) const {
    kv::testing::IndexModel expected;
    kv::testing::update(expected, IndexBatch(first.begin(), first.end()));
    kv::testing::update(expected, IndexBatch(second.begin(), second.end()));
    return kv::testing::difference(index, expected);
  }

  std::unique_ptr<kv::IndexHome> home = kv::make_memory_index_home(kv::testing::run_executor());
  RunModel first{{"a", "1"}, {"b", "1"}, {"c", "1"}};
  RunModel second{{"b", std::nullopt}, {"c", "2"}, {"d", "2"}};
  std::vector<std::shared_ptr<kv::RunReader>> runs;
  std::optional<std::string> writer = "";  // of the runs
};

TEST_CASE("fast index: one of the same LSN and epoch is used") {
  Fixture f;
  f.make(2);
  for (const io::OpenMode mode : {io::OpenMode::kReadOnly, io::OpenMode::kReadWrite}) {
    const FastIndex fast = f.open(mode);
    REQUIRE(fast.index != nullptr);
    CHECK(fast.problem.empty());
    CHECK(fast.verified);
    CHECK(f.difference(*fast.index) == "");
  }
}

TEST_CASE("fast index: one that is missing, of another epoch, or of another store is not used") {
  Fixture f;
  CHECK(f.open().problem == "is missing");
  CHECK(f.open(io::OpenMode::kReadOnly).problem == "is missing");
  f.make(2, kEpoch - 1);
  CHECK(f.open().index == nullptr);
  CHECK(f.open().problem == "is as of LSN 20, the checkpoint is LSN 20 of another epoch");
  const Result<FastIndex> other =
      open_fast_index(*f.home, "index", Uuid{}, io::OpenMode::kReadWrite, f.set(), {});
  REQUIRE(other.ok());
  CHECK(other->index == nullptr);
  CHECK_THAT(other->problem, Catch::StartsWith("cannot be used: "));
}

TEST_CASE("fast index: one that another opening for writing wrote than the runs is not used") {
  Fixture f;
  const std::string key = meta_key(kCheckpointWriter);
  for (const int count : {2, 1}) {
    CAPTURE(count);
    f.writer = encode_checkpoint_writer(7);
    for (const std::uint64_t nonce : {8u, 0u, 7u}) {
      CAPTURE(nonce);
      REQUIRE(f.home->remove("index").ok());
      if (nonce != 0) f.second[key] = f.first[key] = encode_checkpoint_writer(nonce);
      f.make(count);
      f.first.erase(key);
      f.second.erase(key);
      const FastIndex fast = f.open();
      CHECK((fast.index != nullptr) == (nonce == 7));
      if (nonce != 7) {
        CHECK(fast.problem == "cannot be used: another opening for writing wrote it than the runs");
      }
    }
    // Runs from before there were such notes, and such as cannot be read.
    for (const std::optional<std::string>& writer :
         {std::optional<std::string>(""), std::optional<std::string>()}) {
      f.writer = writer;
      REQUIRE(f.home->remove("index").ok());
      f.make(count);
      CHECK(f.open().index != nullptr);
    }
  }
}

TEST_CASE("fast index: an older one gets what it lacks, but for a reader it stays as it is") {
  Fixture f;
  f.make(1);
  CHECK(f.open(io::OpenMode::kReadOnly).problem == "is as of LSN 10, the checkpoint is LSN 20");
  {
    const FastIndex fast = f.open();
    REQUIRE(fast.index != nullptr);
    CHECK(fast.problem.empty());
    CHECK(fast.index->applied_lsn() == 20);
    CHECK(fast.index->applied_epoch() == kEpoch);
    CHECK(f.difference(*fast.index) == "");
  }
  CHECK(f.open(io::OpenMode::kReadOnly).problem.empty());
}

TEST_CASE("fast index: an older one than the runs remember is not used") {
  Fixture f;
  f.make(1);
  kv::testing::WrittenRun merged;
  kv::RunWriter writer(*merged.file, kv::testing::run_store(), 0, 20);
  REQUIRE(kv::merge_runs(f.runs, kv::Tombstones::kDropped, writer).ok());
  merged.info = writer.finish().value();
  f.runs = {merged.open()};
  const FastIndex fast = f.open();
  CHECK(fast.index == nullptr);
  CHECK(fast.problem == "is as of LSN 10, the checkpoint is LSN 20");
}

TEST_CASE("fast index: one that is ahead says how far") {
  Fixture f;
  f.make(2);
  f.runs.erase(f.runs.begin());
  const FastIndex fast = f.open();
  CHECK(fast.index == nullptr);
  CHECK(fast.ahead == 20);
}

TEST_CASE("fast index: without any run the index is what there is") {
  Fixture f;
  f.make(2);
  const kv::RunSet none({}, 0, 0);
  const Result<FastIndex> fast = open_fast_index(*f.home, "index", kv::testing::run_store(),
                                                 io::OpenMode::kReadWrite, none, {});
  REQUIRE(fast.ok());
  REQUIRE(fast->index != nullptr);
  CHECK(fast->index->applied_lsn() == 20);
}

TEST_CASE("fast index: one that somebody has open is an error") {
  Fixture f;
  f.make(2);
  const auto open = f.home->open("index", kv::testing::run_store(), io::OpenMode::kReadWrite);
  REQUIRE(open.ok());
  const Result<FastIndex> fast = open_fast_index(*f.home, "index", kv::testing::run_store(),
                                                 io::OpenMode::kReadWrite, f.set(), {});
  REQUIRE_FALSE(fast.ok());
  CHECK(fast.error().code == ErrorCode::kBusy);
}

}  // namespace
}  // namespace hexad::core
