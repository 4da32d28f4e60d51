// The crash test: the real store, recorded in a simulation; every crash that the recording allows;
// after each one the store must open, hold every acknowledged transaction and nothing half-done,
// and pass fsck.
#include <catch2/catch.hpp>
#include <cstdio>

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

std::uint64_t enumerate(CrashWorld& world, const io::CrashOptions& options, const char* name) {
  const HarnessLine line(name);
  const io::CrashStates states(world.recorder(), options);
  std::uint64_t violations = 0;
  const std::uint64_t tried = states.for_each([&](const io::CrashState& state) {
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
  return tried;
}

// Records a workload and crashes it. Returns how many states were tried.
std::uint64_t record_and_crash(const char* name, const CrashWorldOptions& options,
                               const Subsets& subsets = {}) {
  CrashWorld world(options);
  world.run();
  return enumerate(world, crash_options(options.seed, subsets), name);
}

TEST_CASE("crash: every subset of unflushed writes, each disk with a cache of its own", "[one]") {
  CrashWorld world({.transactions = 48});
  world.run();
  CAPTURE(world.transactions(), world.checkpoints(), world.log_laps(), world.runs_merged());
  REQUIRE(world.transactions() >= 40);
  REQUIRE(world.checkpoints() >= 2);
  REQUIRE(world.log_laps() >= 1);
  REQUIRE(enumerate(world, crash_options(1, {8, 64, 2}), "crash-own-caches") >= 60'000);
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
}

TEST_CASE("crash: cells first, then the log") {
  record_and_crash("crash-data-first",
                   {.seed = 7, .transactions = 24, .log_durability = LogDurability::kDataFirst},
                   {3, 4, 1});
}

TEST_CASE("crash: checkpoint after checkpoint, with runs that are merged") {
  CrashWorld world({.seed = 8, .transactions = 30, .checkpoint_every = 3});
  world.run();
  CAPTURE(world.checkpoints(), world.runs_merged());
  REQUIRE(world.checkpoints() >= 8);
  REQUIRE(world.runs_merged() >= 4);
  enumerate(world, crash_options(8, {3, 4, 1}), "crash-merges");
}

TEST_CASE("crash: recovery crashes at each of its own writes") {
  const HarnessLine line("crash-nested");
  CrashWorld world({.seed = 4});
  world.run();
  std::uint64_t outer = 0;
  std::uint64_t inner = 0;
  std::uint64_t violations = 0;
  const io::CrashStates states(world.recorder(), crash_options(4, {2, 2, 0}));
  std::uint64_t total = states.for_each([](const io::CrashState&) { return true; });
  const std::uint64_t every = std::max<std::uint64_t>(1, total / 110);
  states.for_each([&](const io::CrashState& state) {
    if (state.number() % every != 0) return true;
    ++outer;
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
