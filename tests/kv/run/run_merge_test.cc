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
      // However runs come about, the same entries are the same bytes, where no leaf is taken over.
      if (writer.taken_over() > 0) continue;
      REQUIRE(merged.file->bytes == write_run(model, 0, count).file->bytes);
    }
  }
}

struct Merged {
  WrittenRun run;
  std::uint64_t taken_over = 0;  // bytes
};

Merged merge_of(std::span<const std::shared_ptr<RunReader>> newest_first, Tombstones tombstones) {
  Merged merged;
  RunWriter writer(*merged.run.file, run_store(), newest_first.back()->info().first_lsn,
                   newest_first.front()->info().last_lsn);
  REQUIRE(merge_runs(newest_first, tombstones, writer).ok());
  merged.taken_over = writer.taken_over();
  merged.run.info = writer.finish().value();
  return merged;
}

std::string number(std::uint64_t i) {
  std::string digits = std::to_string(i);
  return std::string(10 - digits.size(), '0') + digits;
}

// Runs as checkpoints write them: something that each has, and objects, 40,000 in each.
template <typename Name>
std::vector<std::shared_ptr<RunReader>> checkpoints(int count, const Name& name, RunModel& all) {
  io::Rng rng(51);
  std::vector<std::shared_ptr<RunReader>> runs;
  for (int i = 0; i < count; ++i) {
    RunModel model;
    for (int j = 0; j < 40; ++j) model["m" + std::to_string(j)] = random_bytes(rng, 200);
    for (int j = 0; j < 40000; ++j) model["o" + name(40000 * i + j)] = random_bytes(rng, 40);
    for (int j = 0; j < 40; ++j) model["z" + std::to_string(j)] = random_bytes(rng, 200);
    for (const auto& [key, value] : model) all[key] = value;
    runs.insert(runs.begin(), write_run(model, i, i + 1).open());
  }
  return runs;
}

// Of a run's leaves of 13,000 keys, the first has what each run has in front of the names, the last
// one what each has behind them.
TEST_CASE("run_merge: names that ascend are taken over but for the edges, others are not") {
  RunModel all;
  const auto ascending = checkpoints(8, number, all);
  const Merged older = merge_of(std::span(ascending).last(4), Tombstones::kDropped);
  const Merged newer = merge_of(std::span(ascending).first(4), Tombstones::kKept);
  for (const Merged* half : {&older, &newer}) {
    CAPTURE(half->taken_over, half->run.info.bytes);
    // 2 leaves of each 40,080 entries.
    CHECK(half->taken_over > half->run.info.bytes * 62 / 100);
    CHECK(half->taken_over < half->run.info.bytes * 68 / 100);
  }
  const std::shared_ptr<RunReader> halves[] = {newer.run.open(), older.run.open()};
  const Merged whole = merge_of(halves, Tombstones::kDropped);
  CAPTURE(whole.taken_over, whole.run.info.bytes);
  CHECK(whole.taken_over > whole.run.info.bytes * 80 / 100);
  const auto reader = whole.run.open();
  REQUIRE(run_difference(*reader, all) == "");
  REQUIRE(reader->verify().ok());

  RunModel others;
  const auto mixed = checkpoints(
      4, [](std::uint64_t i) { return number(i * 7919 % 160000); }, others);
  const Merged taken_apart = merge_of(mixed, Tombstones::kDropped);
  REQUIRE(run_difference(*taken_apart.run.open(), others) == "");
  CHECK(taken_apart.taken_over == 0);
}

// Stretches of names, some with tombstones, written by one run after the other, and merged as it
// comes.
TEST_CASE("run_merge: whatever is taken over, runs say what a plain map says") {
  const std::uint64_t seed = GENERATE(61, 62, 63, 64);
  CAPTURE(seed);
  io::Rng rng(seed);
  struct Layer {
    RunModel model;
    std::shared_ptr<RunReader> run;
  };
  std::vector<Layer> layers;  // newest first
  Lsn lsn = 0;
  std::uint64_t taken_over = 0;
  for (int step = 0; step < 60; ++step) {
    CAPTURE(step);
    if (layers.size() < 2 || rng.chance(1, 2)) {
      Layer layer;
      for (std::uint64_t stretches = 1 + rng.below(3); stretches > 0; --stretches) {
        const std::uint64_t from = rng.below(300);
        const std::uint64_t count = 1 + rng.below(60);
        const bool removed = rng.chance(1, 4);
        for (std::uint64_t i = from; i < from + count; ++i) {
          if (rng.chance(1, 20)) continue;
          std::optional<std::string> value;
          if (!removed && !rng.chance(1, 60)) value = deep_value(lsn + i);
          layer.model[deep_key(i)] = std::move(value);
        }
      }
      layer.run = write_run(layer.model, lsn, lsn + 1).open();
      ++lsn;
      layers.insert(layers.begin(), std::move(layer));
      continue;
    }
    const std::size_t first = rng.below(layers.size() - 1);
    const std::size_t count = 2 + rng.below(layers.size() - first - 1);
    const bool oldest = first + count == layers.size();
    std::vector<std::shared_ptr<RunReader>> inputs;
    Layer result;
    for (std::size_t i = first; i < first + count; ++i) {
      inputs.push_back(layers[i].run);
      for (const auto& entry : layers[i].model) result.model.insert(entry);  // the newest first
    }
    if (oldest) {
      std::erase_if(result.model, [](const auto& entry) { return !entry.second.has_value(); });
    }
    const Merged merged = merge_of(inputs, oldest ? Tombstones::kDropped : Tombstones::kKept);
    taken_over += merged.taken_over;
    result.run = merged.run.open();
    REQUIRE(run_difference(*result.run, result.model) == "");
    REQUIRE(result.run->verify().ok());
    layers.erase(layers.begin() + first + 1, layers.begin() + first + count);
    layers[first] = std::move(result);
  }
  CHECK(taken_over > 0);
}

// RB5, at the edges of a leaf.
TEST_CASE("run_merge: one key of another run anywhere in a leaf, and it is taken apart") {
  RunModel old;
  for (std::uint64_t i = 100; i < 140; ++i) old[deep_key(i)] = deep_value(1);
  const WrittenRun base = write_run(old, 0, 1);
  const std::shared_ptr<RunReader> alone[] = {base.open()};
  REQUIRE(merge_of(alone, Tombstones::kDropped).taken_over > 0);
  for (std::uint64_t i = 99; i < 141; ++i) {
    for (const bool removed : {false, true}) {
      CAPTURE(i, removed);
      RunModel newer;
      newer[deep_key(i)] = removed ? std::nullopt : std::optional(deep_value(2));
      for (const bool reversed : {false, true}) {
        CAPTURE(reversed);
        const WrittenRun a = write_run(reversed ? newer : old, 0, 1);
        const WrittenRun b = write_run(reversed ? old : newer, 1, 2);
        const std::shared_ptr<RunReader> runs[] = {b.open(), a.open()};
        for (const Tombstones tombstones : {Tombstones::kKept, Tombstones::kDropped}) {
          RunModel expected = reversed ? old : newer;
          for (const auto& entry : reversed ? newer : old) expected.insert(entry);
          if (tombstones == Tombstones::kDropped) {
            std::erase_if(expected, [](const auto& entry) { return !entry.second.has_value(); });
          }
          const Merged merged = merge_of(runs, tombstones);
          REQUIRE(run_difference(*merged.run.open(), expected) == "");
          REQUIRE(merged.run.open()->verify().ok());
          REQUIRE(merged.taken_over > 0);
        }
      }
    }
  }
}

TEST_CASE("run_merge: a tombstone in a leaf that is nobody's else goes where tombstones go") {
  for (std::uint64_t where = 0; where < 40; ++where) {
    CAPTURE(where);
    RunModel model;
    for (std::uint64_t i = 0; i < 40; ++i) model[deep_key(i)] = deep_value(i);
    model[deep_key(where)] = std::nullopt;
    const std::shared_ptr<RunReader> runs[] = {write_run(model, 5, 6).open()};
    const Merged kept = merge_of(runs, Tombstones::kKept);
    REQUIRE(run_difference(*kept.run.open(), model) == "");
    REQUIRE(kept.run.info.tombstones == 1);
    REQUIRE(kept.run.open()->verify().ok());
    model.erase(deep_key(where));
    const Merged dropped = merge_of(runs, Tombstones::kDropped);
    REQUIRE(run_difference(*dropped.run.open(), model) == "");
    REQUIRE(dropped.run.info.tombstones == 0);
    REQUIRE(dropped.run.open()->verify().ok());
    REQUIRE(dropped.taken_over > 0);
  }
}

TEST_CASE("run_merge: a byte of a leaf that is wrong is not taken over") {
  RunModel model;
  for (std::uint64_t i = 0; i < 40; ++i) model[deep_key(i)] = deep_value(i);
  const WrittenRun run = write_run(model);
  const std::string good = run.file->bytes;
  const std::shared_ptr<RunReader> runs[] = {run.open()};
  for (std::size_t at = 0; at + kRunFooterSize < good.size(); at += 509) {
    CAPTURE(at);
    run.file->bytes[at] ^= 1;
    WrittenRun out;
    RunWriter writer(*out.file, run_store(), 0, 1);
    const Status merged = merge_runs(runs, Tombstones::kKept, writer);
    REQUIRE_FALSE(merged.ok());
    REQUIRE(merged.error().code == ErrorCode::kCorruption);
    run.file->bytes = good;
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
