// The crash test: the real store, recorded in a simulation; every crash that the recording allows;
// after each one the store must open, hold every acknowledged transaction and nothing half-done,
// and pass fsck.
#include <catch2/catch.hpp>
#include <cstdio>

#include "tests/base/campaign.h"
#include "tests/crash/crash_world.h"
#include "tests/crash/harness_line.h"

namespace hexad::testing {
namespace {

// All subsets of up to `limit` unflushed writes; beyond, prefixes, whole disks, single writes and
// so many random choices.
struct Subsets {
  std::uint32_t limit = 4;
  std::uint32_t samples = 8;
  std::uint32_t tears = 1;  // ways in which each write can be torn
};
io::CrashOptions crash_options(std::uint64_t seed, const Subsets& subsets) {
  io::CrashOptions options;
  options.exhaustive_limit = subsets.limit;
  options.random_samples = subsets.samples;
  options.tears_per_write = subsets.tears;
  options.seed = seed;
  return options;
}

// Tries one in so many of the states. Returns how many there are.
std::uint64_t enumerate(CrashWorld& world, const io::CrashOptions& options, const char* name,
                        std::uint64_t one_in) {
  const HarnessLine line(name);
  const io::CrashStates states(world.recorder(), options);
  std::uint64_t violations = 0;
  std::uint64_t tried = 0;
  const std::uint64_t all = states.for_each([&](const io::CrashState& state) {
    if (!campaign_picks(state.number(), one_in)) return true;
    ++tried;
    const auto problem = world.reopen(
        state, nullptr, [&](Store& store) { return world.check(store, state.position()); });
    if (problem.has_value()) {
      ++violations;
      UNSCOPED_INFO(state.describe());
      UNSCOPED_INFO(*problem);
      CHECK_FALSE(problem.has_value());
    }
    return violations < 5;
  });
  line.print({{"states", tried}, {"violations", violations}});
  REQUIRE(violations == 0);
  REQUIRE(tried >= all / one_in);
  return all;
}

// Records a workload and crashes it: a part of the states that there are, other ones for each seed
// of the campaign. Returns how many there are.
constexpr std::uint64_t kOneIn = 10;

std::uint64_t record_and_crash(const char* name, CrashWorldOptions options,
                               const Subsets& subsets = {}) {
  options.seed = campaign_seed_of(options.seed);
  CrashWorld world(options);
  world.run();
  return enumerate(world, crash_options(options.seed, subsets), name, kOneIn);
}

TEST_CASE("crash: every subset of unflushed writes, each disk with a cache of its own",
          "[one][own-caches]") {
  const std::uint64_t seed = campaign_seed_of(1);
  CrashWorld world({.seed = seed, .transactions = 48});
  world.run();
  CAPTURE(world.transactions(), world.checkpoints(), world.log_laps(), world.runs_merged());
  REQUIRE(world.transactions() >= 40);
  REQUIRE(world.checkpoints() >= 2);
  REQUIRE(world.log_laps() >= 1);
  REQUIRE(enumerate(world, crash_options(seed, {8, 64, 2}), "crash-own-caches", kOneIn) >= 50'000);
}

TEST_CASE("crash: blocks of 4 KiB, torn whole", "[one]") {
  record_and_crash("crash-4k-blocks",
                   {.seed = 2, .physical_block = 4096, .log_size = 256 << 10, .transactions = 40});
}

// Here one flush makes a group durable, and whatever of several groups it does not cover may be
// lost or kept: many writes are pending at few moments, so each moment gets many samples.
TEST_CASE("crash: all disks behind one cache") {
  REQUIRE(record_and_crash("crash-one-cache", {.seed = 3, .flush_domain = 0}, {8, 100, 2}) >=
          20'000);
}

TEST_CASE("crash: buffered commits among durable ones") {
  record_and_crash("crash-buffered", {.seed = 5, .transactions = 48, .buffered = true});
}

TEST_CASE("crash: answers that wait for the fast copy of the log alone", "[one]") {
  record_and_crash("crash-fast-log",
                   {.seed = 6, .transactions = 24, .log_durability = LogDurability::kFast},
                   {3, 4, 1});
  // All copies are in one cache with the fast one, and waited for.
  record_and_crash(
      "crash-fast-log-one-cache",
      {.seed = 7, .flush_domain = 0, .transactions = 24, .log_durability = LogDurability::kFast},
      {3, 4, 1});
}

TEST_CASE("crash: no fast directory, so that the runs answer and the log is on data disks alone") {
  record_and_crash("crash-no-fast",
                   {.seed = 9, .transactions = 40, .checkpoint_every = 8, .fast = false},
                   {3, 4, 1});
}

TEST_CASE("crash: without parity, on one disk and on more than a stripe has cells") {
  record_and_crash("crash-one-disk",
                   {.seed = 10, .transactions = 32, .profile = {1, 0}, .data_disks = 1}, {4, 4, 1});
  record_and_crash("crash-no-parity",
                   {.seed = 11, .transactions = 32, .profile = {4, 0}, .data_disks = 6}, {3, 4, 1});
  record_and_crash(
      "crash-no-parity-no-fast",
      {.seed = 12, .transactions = 24, .profile = {2, 0}, .data_disks = 2, .fast = false},
      {3, 4, 1});
}

TEST_CASE("crash: cells first, then the log") {
  record_and_crash("crash-data-first",
                   {.seed = 7, .transactions = 24, .log_durability = LogDurability::kDataFirst},
                   {3, 4, 1});
}

TEST_CASE("crash: checkpoint after checkpoint, with runs that are merged") {
  const std::uint64_t seed = campaign_seed_of(8);
  CrashWorld world({.seed = seed, .transactions = 30, .checkpoint_every = 3});
  world.run();
  CAPTURE(world.checkpoints(), world.runs_merged());
  REQUIRE(world.checkpoints() >= 8);
  REQUIRE(world.runs_merged() >= 4);
  enumerate(world, crash_options(seed, {3, 4, 1}), "crash-merges", kOneIn);
}

TEST_CASE("crash: recovery crashes at each of its own writes") {
  const HarnessLine line("crash-nested");
  const std::uint64_t seed = campaign_seed_of(4);
  CrashWorld world({.seed = seed});
  world.run();
  std::uint64_t outer = 0;
  std::uint64_t inner = 0;
  std::uint64_t violations = 0;
  const io::CrashStates states(world.recorder(), crash_options(seed, {2, 2, 0}));
  std::uint64_t total = states.for_each([](const io::CrashState&) { return true; });
  const std::uint64_t every = std::max<std::uint64_t>(1, total / 110);
  const std::uint64_t rest = campaign_seed() % every;
  states.for_each([&](const io::CrashState& state) {
    if (state.number() % every != rest) return true;
    if (!campaign_picks(outer++, kOneIn)) return true;
    io::CrashRecorder again;
    const auto first = world.reopen(
        state, &again, [&](Store& store) { return world.check(store, state.position()); });
    violations += first.has_value() ? 1 : 0;
    const io::CrashOptions nested = crash_options(state.number(), {3, 4, 1});
    inner += io::CrashStates(again, nested).for_each([&](const io::CrashState& second) {
      const auto problem = world.reopen(
          second, nullptr, [&](Store& store) { return world.check(store, state.position()); });
      if (problem.has_value()) {
        ++violations;
        UNSCOPED_INFO(state.describe());
        UNSCOPED_INFO("then " + second.describe());
        UNSCOPED_INFO(*problem);
        CHECK_FALSE(problem.has_value());
      }
      return violations < 5;
    });
    return violations < 5;
  });
  line.print({{"states", outer + inner}, {"violations", violations}});
  REQUIRE(outer >= 100);
  REQUIRE(inner >= (campaign_is_thorough() ? 20'000 : 1'500));
  REQUIRE(violations == 0);
}

TEST_CASE("crash: one seed gives one trace") {
  const auto trace_of = [](std::uint64_t seed) {
    CrashWorld world({.seed = seed});
    world.run();
    return world.trace_hash();
  };
  const std::uint64_t first = trace_of(1);
  std::printf("name=crash-trace seed=1 hash=%016llx\n", static_cast<unsigned long long>(first));
  REQUIRE(trace_of(1) == first);
  REQUIRE(trace_of(99) != first);
}

}  // namespace
}  // namespace hexad::testing
