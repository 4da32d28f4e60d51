#include "core/jobs/index_job.h"

#include <catch2/catch.hpp>

#include "io/memory_system.h"
#include "kv/memory/memory_index.h"
#include "kv/run/resident_pieces.h"
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

TEST_CASE("index job: a directory that is another store's by now is not touched") {
  World w;
  { REQUIRE(w.open() != nullptr); }
  bool ours = false;
  IndexJob::Parts parts{w.index,
                        w.home.get(),
                        w.directory_,
                        kv::testing::run_store(),
                        [&] { return w.index.runs(); },
                        w.counters,
                        w.checkpoints};
  parts.is_ours = [&]() -> Status {
    if (ours) return {};
    return Error{ErrorCode::kConflict, "another store has it", ""};
  };
  IndexJob job(std::move(parts));
  REQUIRE(job.want());
  CHECK(job.step().status().error().code == ErrorCode::kConflict);
  CHECK_FALSE(w.index.has_fast());
  CHECK(w.home->open("index", kv::testing::run_store(), io::OpenMode::kReadOnly).ok());
  ours = true;
  REQUIRE(job.want());
  World::finish(job);
  CHECK(w.index.has_fast());
}

// Indexes do not fit, however much room there is said to be.
class NarrowHome final : public kv::IndexHome {
 public:
  explicit NarrowHome(io::Executor& executor)
      : inner_(kv::make_memory_index_home(executor, {1 << 10})) {}
  Result<std::unique_ptr<kv::Index>> open(const std::string& directory, const Uuid& store,
                                          io::OpenMode mode) override {
    ++opened;
    return inner_->open(directory, store, mode);
  }
  Status remove(const std::string& directory) override { return inner_->remove(directory); }
  std::optional<std::uint64_t> room(const std::string&) override { return left; }

  int opened = 0;
  std::uint64_t left = 8 << 20;

 private:
  const std::unique_ptr<kv::IndexHome> inner_;
};

struct BlocksWorld : World {
  void checkpoint() {
    job.want();
    while (job.due().has_value()) job.step().status().ignore();
  }
  void fail() {
    for (int i = 0; i < kv::ResidentPieces::kMostErrors; ++i) {
      blocks.drop({kv::RunPieceKind::kData, 1, 0});
    }
    REQUIRE_FALSE(blocks.usage().open);
  }

  io::MemorySystem system;
  kv::ResidentPieces blocks{system, "fast/blocks", 1 << 20};
  NarrowHome narrow{executor};
  IndexJob job{{index,
                &narrow,
                "index",
                kv::testing::run_store(),
                [this] { return index.runs(); },
                counters,
                checkpoints,
                nullptr,
                {},
                &blocks}};
};

TEST_CASE("index job: the room of blocks is no news, where an index would not have it") {
  // As where an index may have 8 MiB, and there is much more: blocks take nothing of that.
  BlocksWorld w;
  for (int i = 0; i < 5; ++i) w.checkpoint();
  REQUIRE(w.narrow.opened == 1);
  REQUIRE(w.blocks.usage().room > 3 << 20);
  // Half as much again is.
  w.narrow.left += w.narrow.left / 2;
  w.checkpoint();
  REQUIRE(w.narrow.opened == 2);
  for (int i = 0; i < 5; ++i) w.checkpoint();
  REQUIRE(w.narrow.opened == 2);
}

TEST_CASE("index job: blocks that the table cannot know of any more give their room back") {
  BlocksWorld w;
  w.checkpoint();
  const std::uint64_t held = w.blocks.room();
  w.blocks.set_most_memory(8 << 10);
  const std::uint64_t known = w.blocks.known_of(held);
  REQUIRE(known < held);
  w.checkpoint();
  CHECK(w.blocks.room() <= known);
  CHECK(w.blocks.room() >= known / 2);
  w.blocks.set_most_memory(1 << 20);
  w.checkpoint();
  CHECK(w.blocks.room() > known);
  CHECK(w.narrow.opened == 1);
}

TEST_CASE("index job: blocks that have ended give their room back, and get it again") {
  BlocksWorld w;
  w.checkpoint();
  REQUIRE(w.blocks.usage().open);
  // Each time it takes longer.
  for (const int more : {0, 1, 2, 4, 8}) {
    w.fail();
    w.checkpoint();
    REQUIRE(w.blocks.is_gone());
    REQUIRE(w.blocks.usage().problem != "");
    for (int i = 0; i < more; ++i) {
      w.checkpoint();
      REQUIRE_FALSE(w.blocks.usage().open);
    }
    w.checkpoint();
    REQUIRE(w.blocks.usage().open);
    REQUIRE(w.blocks.usage().problem == "");
  }
  REQUIRE(w.narrow.opened == 1);
}

}  // namespace
}  // namespace hexad::core
