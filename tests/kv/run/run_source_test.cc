#include "kv/run/run_source.h"

#include <atomic>
#include <catch2/catch.hpp>

#include "kv/run/run_reader.h"
#include "tests/kv/run_model.h"

namespace hexad::kv {
namespace {

using namespace testing;

TEST_CASE("run_source: what is kept is read once, and again when it had to go") {
  const RunModel model = deep_run();
  const WrittenRun run = write_run(model);
  MapRunCache cache(100000);
  const std::shared_ptr<RunReader> reader = run.open(cache);
  const auto read_all = [&] {
    run.file->reads = 0;
    for (const auto& [key, value] : model) REQUIRE(reader->get(key)->value == value);
    return run.file->reads.load();
  };
  const std::uint64_t first = read_all();
  REQUIRE(first > model.size());
  REQUIRE(cache.misses == first);
  REQUIRE(read_all() == 0);
  cache.set_limit(0);
  REQUIRE(read_all() > first);
}

// RB4: with the LSNs, the length and the offsets of the one before, as after a checkpoint that
// failed and was repeated.
TEST_CASE("run_source: a run has nothing of one that was there before, whatever they share") {
  RunModel model;
  for (int i = 0; i < 3000; ++i) model["key" + std::to_string(i)] = "before" + std::to_string(i);
  MapRunCache cache(100000);
  WrittenRun run = write_run(model, 3, 9);
  REQUIRE(run_difference(*run.open(cache), model) == "");
  for (auto& [key, value] : model) value->replace(0, 6, "behind");
  run = write_run(model, 3, 9);
  REQUIRE(run_difference(*run.open(cache), model) == "");
}

TEST_CASE("run_source: threads that read at once read the same") {
  const RunModel model = deep_run();
  MapRunCache cache(50);
  const std::shared_ptr<RunReader> reader = write_run(model).open(cache);
  std::atomic<int> wrong{0};
  std::vector<std::unique_ptr<io::Thread>> threads;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    threads.push_back(run_executor().start("reader", [&, seed] {
      io::Rng rng(seed);
      for (int i = 0; i < 1000; ++i) {
        const auto expected = std::next(model.begin(), rng.below(model.size()));
        const auto found = reader->get(expected->first);
        if (!found.ok() || found->value != expected->second) ++wrong;
      }
    }));
  }
  for (const auto& thread : threads) thread->join();
  REQUIRE(wrong == 0);
}

}  // namespace
}  // namespace hexad::kv
