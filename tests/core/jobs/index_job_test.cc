#include "core/jobs/index_job.h"

#include <catch2/catch.hpp>

#include "kv/memory/memory_index.h"
#include "tests/kv/index_contract.h"
#include "tests/kv/run_model.h"

namespace hexad::core {
namespace {

// A store whose runs hold 4000 random keys.
struct World {
  explicit World(std::string directory = "index") : directory_(std::move(directory)) {}

  IndexJob job(std::unique_ptr<kv::Index> unverified = nullptr) {
    return IndexJob({index, home.get(), directory_, kv::testing::run_store(),
                     [this] { return index.runs(); }, counters, checkpoints,
                     std::move(unverified)});
  }
  std::unique_ptr<kv::Index> open() {
    return home->open("index", kv::testing::run_store(), io::OpenMode::kReadWrite).value();
  }
  // Until nothing is due; how many steps that took.
  static int finish(IndexJob& job) {
    int steps = 0;
    for (; job.due().has_value(); ++steps) {
      REQUIRE(steps < 1000);
      REQUIRE(job.step().ok());
    }
    return steps;
  }

  std::string directory_;
  io::Executor& executor = kv::testing::run_executor();
  io::Rng rng{5};
  kv::testing::RunModel model = kv::testing::random_run(rng, 4000);
  std::unique_ptr<kv::IndexHome> home = kv::make_memory_index_home(executor);
  kv::TieredIndex index{
      executor,
      std::make_shared<const kv::RunSet>(
          std::vector<std::shared_ptr<kv::RunReader>>{kv::testing::write_run(model, 0, 10).open()},
          10, 7),
      nullptr};
  Counters counters;
  io::Mutex checkpoints{executor};
};

TEST_CASE("index job: copies the runs into a new index, which serves from then on") {
  World w;
  IndexJob job = w.job();
  CHECK(job.due() == std::nullopt);
  REQUIRE(job.want());
  CHECK_FALSE(job.want());
  CHECK(World::finish(job) >= 1);
  CHECK(w.index.has_fast());
  CHECK(w.counters.since_open(CounterId::kIndexesRebuilt) == 1);
  CHECK(job.progress().done == 0);  // it is at nothing any more
  // There is nothing to do now.
  REQUIRE(job.want());
  CHECK_FALSE(job.step().value());
}

TEST_CASE("index job: a pool without a place for an index wants none") {
  World w("");
  IndexJob job = w.job();
  CHECK_FALSE(job.want());
  CHECK(job.due() == std::nullopt);
}

TEST_CASE(
    "index job: the one that was there is verified first, and made again when it is not sound") {
  World w;
  {
    IndexJob first = w.job();
    REQUIRE(first.want());
    World::finish(first);
  }
  w.index.detach();
  IndexJob job = w.job(w.open());
  REQUIRE(job.want());
  CHECK(job.step().value());
  CHECK(w.index.has_fast());
  CHECK(w.counters.since_open(CounterId::kIndexesRebuilt) == 1);  // and no other was made
  World::finish(job);
  CHECK(w.counters.since_open(CounterId::kIndexesRebuilt) == 1);
}

}  // namespace
}  // namespace hexad::core
