#include "core/runs/index_rebuild.h"

#include <catch2/catch.hpp>

#include "kv/memory/memory_index.h"
#include "kv/run/run_merge.h"
#include "tests/kv/index_contract.h"
#include "tests/kv/run_model.h"

namespace hexad::core {
namespace {

using kv::testing::IndexBatch;
using kv::testing::IndexModel;
using kv::testing::RunModel;

// Three runs, the last of which deletes some of what the others hold.
struct Fixture {
  Fixture() {
    io::Rng rng(3);
    add(kv::testing::random_run(rng, 4000), 10);
    add(kv::testing::random_run(rng, 500), 20);
    RunModel changes = kv::testing::random_run(rng, 100);
    for (int i = 0; i < 300; ++i) {
      changes[kv::testing::random_probe(rng, models[0])] = std::nullopt;
    }
    add(changes, 30);
  }
  void add(const RunModel& model, Lsn lsn) {
    const Lsn before = runs.empty() ? Lsn{0} : runs.front()->info().last_lsn;
    runs.insert(runs.begin(), kv::testing::write_run(model, before, lsn).open());
    models.push_back(model);
  }
  // The newest `count` runs but `skip`.
  std::shared_ptr<const kv::RunSet> set(std::size_t skip = 0) const {
    return std::make_shared<const kv::RunSet>(
        std::vector<std::shared_ptr<kv::RunReader>>(
            runs.begin() + static_cast<std::ptrdiff_t>(skip), runs.end()),
        runs[skip]->info().last_lsn, 7);
  }
  IndexModel expected() const {
    IndexModel all;
    for (const RunModel& model : models) {
      kv::testing::update(all, IndexBatch(model.begin(), model.end()));
    }
    return all;
  }
  std::unique_ptr<kv::Index> fresh(const std::string& name) {
    return home->open(name, kv::testing::run_store(), io::OpenMode::kReadWrite).value();
  }

  std::unique_ptr<kv::IndexHome> home = kv::make_memory_index_home(kv::testing::run_executor());
  std::vector<std::shared_ptr<kv::RunReader>> runs;
  std::vector<RunModel> models;
};

TEST_CASE("index rebuild: bit by bit, and trusted by nobody before the end") {
  Fixture f;
  IndexRebuild rebuild(f.fresh("a"), f.set());
  int steps = 0;
  bool done = false;
  while (!done) {
    done = rebuild.step(10'000).value();
    ++steps;
  }
  CHECK(steps > 3);
  CHECK(rebuild.follow(*f.set()).value());
  const std::unique_ptr<kv::Index> index = rebuild.take();
  CHECK(index->applied_lsn() == 30);
  CHECK(index->applied_epoch() == 7);
  CHECK(kv::testing::difference(*index, f.expected()) == "");
}

TEST_CASE("index rebuild: what is left half-way has LSN 0") {
  Fixture f;
  {
    IndexRebuild rebuild(f.fresh("a"), f.set());
    REQUIRE_FALSE(rebuild.step(10'000).value());
    REQUIRE_FALSE(rebuild.step(10'000).value());
  }
  const std::unique_ptr<kv::Index> index = f.fresh("a");
  CHECK(index->applied_lsn() == 0);
  CHECK(index->stats()->entries > 0);
}

TEST_CASE("index rebuild: follows what was written meanwhile, merged or not") {
  Fixture f;
  IndexRebuild rebuild(f.fresh("a"), f.set(2));
  while (!rebuild.step(1 << 20).value()) {
  }
  SECTION("as two runs") { CHECK(rebuild.follow(*f.set()).value()); }
  SECTION("as one, with more than is missing") {
    io::Rng rng(9);
    f.add(kv::testing::random_run(rng, 50), 40);
    REQUIRE(rebuild.follow(*f.set(1)).value());
    kv::testing::WrittenRun merged;
    kv::RunWriter writer(*merged.file, kv::testing::run_store(), 10, 40);
    REQUIRE(kv::merge_runs(std::span(f.runs).first(3), kv::Tombstones::kKept, writer).ok());
    merged.info = writer.finish().value();
    const kv::RunSet now({merged.open(), f.runs[3]}, 40, 7);
    CHECK(rebuild.follow(now).value());
  }
  const std::unique_ptr<kv::Index> index = rebuild.take();
  CHECK(kv::testing::difference(*index, f.expected()) == "");
}

TEST_CASE("index rebuild: runs that have forgotten what was deleted are not followed") {
  Fixture f;
  const std::unique_ptr<kv::Index> index = f.fresh("a");
  IndexRebuild rebuild(f.fresh("b"), f.set(1));
  while (!rebuild.step(1 << 20).value()) {
  }
  kv::testing::WrittenRun merged;
  kv::RunWriter writer(*merged.file, kv::testing::run_store(), 0, 30);
  REQUIRE(kv::merge_runs(f.runs, kv::Tombstones::kDropped, writer).ok());
  merged.info = writer.finish().value();
  const kv::RunSet now({merged.open()}, 30, 7);
  CHECK_FALSE(rebuild.follow(now).value());
}

TEST_CASE("index rebuild: a store without anything has an index at once") {
  Fixture f;
  const auto none =
      std::make_shared<const kv::RunSet>(std::vector<std::shared_ptr<kv::RunReader>>(), 0, 0);
  IndexRebuild rebuild(f.fresh("a"), none);
  CHECK(rebuild.step(1).value());
  CHECK(rebuild.follow(*none).value());
  CHECK(rebuild.take()->applied_lsn() == 0);
}

}  // namespace
}  // namespace hexad::core
