#include "kv/run/run_merge.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <numeric>

#include "tests/kv/run_model.h"

namespace hexad::kv {
namespace {

using namespace testing;

struct Simulated {
  double amplification = 0;  // bytes written by merges over bytes written by checkpoints
  std::size_t most_runs = 0;
  std::uint64_t largest = 0;
};

// `limit`: what all keys together can take, however often they are written.
Simulated simulate(int checkpoints, const std::function<std::uint64_t(int)>& size,
                   std::uint64_t limit = ~std::uint64_t{0}, const RunMergeRules& rules = {}) {
  Simulated result;
  std::vector<std::uint64_t> runs;  // newest first
  double fresh = 0;
  double again = 0;
  for (int i = 0; i < checkpoints; ++i) {
    runs.insert(runs.begin(), size(i));
    fresh += static_cast<double>(size(i));
    int merges = 0;
    while (const auto plan = plan_run_merge(runs, rules)) {
      REQUIRE(plan->count >= 2);
      REQUIRE(plan->first + plan->count <= runs.size());
      REQUIRE(++merges < 10);
      const auto first = runs.begin() + plan->first;
      const auto last = first + plan->count;
      *first = std::min(limit, std::accumulate(first, last, std::uint64_t{0}));
      again += static_cast<double>(*first);
      runs.erase(first + 1, last);
    }
    result.most_runs = std::max(result.most_runs, runs.size());
    result.largest = std::max(result.largest, *std::max_element(runs.begin(), runs.end()));
  }
  result.amplification = again / fresh;
  return result;
}

TEST_CASE("run_merge: a thousand checkpoints leave few runs, and bytes are written log4 times") {
  const double bound = std::log(1000) / std::log(4);
  const std::uint64_t seed = 41;
  CAPTURE(seed);
  io::Rng rng(seed);
  std::vector<std::uint64_t> sizes(1000);
  for (std::uint64_t& size : sizes) size = 1 + rng.below(100);
  std::vector<std::uint64_t> heavy(1000);  // a few are as large as all others
  for (std::uint64_t& size : heavy) size = 1000 / (1 + rng.below(1000));
  const auto require_bounded = [&](const Simulated& result) {
    CAPTURE(result.amplification);
    REQUIRE(result.most_runs <= 8);
    REQUIRE(result.amplification <= bound + 0.5);
  };
  require_bounded(simulate(1000, [](int) { return 1; }));
  require_bounded(simulate(1000, [](int) { return 64u << 20; }));
  require_bounded(simulate(1000, [&](int i) { return sizes[i]; }));
  require_bounded(simulate(1000, [&](int i) { return heavy[i]; }));
  require_bounded(simulate(1000, [](int i) { return 1000 - i; }));
  require_bounded(simulate(1000, [](int i) { return i + 1; }));
  require_bounded(simulate(1000, [](int i) { return i % 2 == 0 ? 1 : 50; }));
  require_bounded(simulate(1000, [](int i) { return i == 0 ? 100000 : 1; }));
  // Every key again and again.
  require_bounded(simulate(
      1000, [](int) { return 1; }, 200));
}

TEST_CASE("run_merge: ten thousand checkpoints cost twice as much as a hundred times fewer") {
  const Simulated result = simulate(10000, [](int) { return 1; });
  CAPTURE(result.amplification);
  REQUIRE(result.most_runs <= 8);
  REQUIRE(result.amplification < 9);
  // What is overwritten is not written for ever: the cost stays where it is.
  const Simulated steady = simulate(
      10000, [](int) { return 1; }, 200);
  REQUIRE(steady.amplification < 4.5);
}

TEST_CASE("run_merge: the limit on runs holds for every limit and ratio, any sizes") {
  const std::uint64_t seed = 42;
  CAPTURE(seed);
  io::Rng rng(seed);
  for (int round = 0; round < 200; ++round) {
    const RunMergeRules rules = {.max_runs = 1 + rng.below(10), .ratio = 2 + rng.below(7)};
    std::vector<std::uint64_t> runs(rng.below(30));
    for (std::uint64_t& size : runs) size = rng.next() >> rng.below(64);
    std::size_t merges = 0;
    while (const auto plan = plan_run_merge(runs, rules)) {
      REQUIRE((plan->count >= 2 && plan->first + plan->count <= runs.size()));
      runs.erase(runs.begin() + plan->first + 1, runs.begin() + plan->first + plan->count);
      REQUIRE(++merges <= 30);
    }
    REQUIRE(runs.size() <= rules.max_runs);
  }
}

TEST_CASE("run_merge: four equal neighbours are merged, three are left") {
  const std::uint64_t four[] = {5, 5, 5, 5};
  REQUIRE(plan_run_merge(four, {}) == RunMergePlan{0, 4});
  REQUIRE(plan_run_merge(std::span(four).first(3), {}) == std::nullopt);
  const std::uint64_t below[] = {5, 5, 5, 5, 100000};
  REQUIRE(plan_run_merge(below, {}) == RunMergePlan{0, 4});
  const std::uint64_t between[] = {1, 1000, 1000, 1000, 1000, 1000000};
  REQUIRE(plan_run_merge(between, {})->count >= 4);
  REQUIRE(plan_run_merge({}, {}) == std::nullopt);
  // One too many: those whose bytes gain most, and a small one goes with them.
  const std::uint64_t spread[] = {1, 100, 150, 90000};
  REQUIRE(plan_run_merge(spread, {.max_runs = 3}) == RunMergePlan{0, 3});
  REQUIRE(plan_run_merge(spread, {.max_runs = 4}) == std::nullopt);
}

struct Layers {
  std::vector<std::shared_ptr<RunReader>> runs;  // newest first
  RunModel model;                                // of all, tombstones included
};

Layers random_layers(io::Rng& rng, int count) {
  Layers layers;
  for (int i = 0; i < count; ++i) {
    const RunModel layer = random_run(rng, 1 + rng.below(1500));
    for (const auto& [key, value] : layer) layers.model[key] = value;
    layers.runs.insert(layers.runs.begin(), write_run(layer, i, i + 1).open());
  }
  return layers;
}

TEST_CASE("run_merge: what is merged says what the runs said, with and without tombstones") {
  const std::uint64_t seed = 43;
  CAPTURE(seed);
  io::Rng rng(seed);
  for (int count = 1; count <= 8; ++count) {
    CAPTURE(count);
    const Layers layers = random_layers(rng, count);
    for (const bool drop : {false, true}) {
      RunModel model = layers.model;
      if (drop) std::erase_if(model, [](const auto& entry) { return !entry.second.has_value(); });
      WrittenRun merged;
      RunWriter writer(*merged.file, run_store(), 0, count);
      REQUIRE(
          merge_runs(layers.runs, drop ? Tombstones::kDropped : Tombstones::kKept, writer).ok());
      merged.info = writer.finish().value();
      const auto reader = merged.open();
      REQUIRE(run_difference(*reader, model) == "");
      REQUIRE(reader->verify().ok());
      // However runs come about, the same entries are the same bytes.
      REQUIRE(merged.file->bytes == write_run(model, 0, count).file->bytes);
    }
  }
}

TEST_CASE("run_merge: an input or an output that fails ends it") {
  io::Rng rng(44);
  RunModel model;
  for (int i = 0; i < 3000; ++i) model["k" + std::to_string(i)] = random_bytes(rng, 200);
  const WrittenRun run = write_run(model);
  const std::shared_ptr<RunReader> runs[] = {run.open()};
  WrittenRun out;
  {
    RunWriter writer(*out.file, run_store(), 0, 1);
    run.file->fails = true;
    REQUIRE(merge_runs(runs, Tombstones::kKept, writer).error().code == ErrorCode::kIo);
    run.file->fails = false;
  }
  RunWriter writer(*out.file, run_store(), 0, 1);
  out.file->fails = true;
  REQUIRE(merge_runs(runs, Tombstones::kKept, writer).error().code == ErrorCode::kIo);
  REQUIRE(writer.finish().error().code == ErrorCode::kIo);
}

}  // namespace
}  // namespace hexad::kv
