// The crash test: the real store, recorded in a simulation; every crash that the recording allows;
// after each one the store must open, hold every acknowledged transaction and nothing half-done,
// and pass fsck.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>

#include "tests/crash/crash_world.h"

namespace hexad::testing {
namespace {

using Clock = std::chrono::steady_clock;

void print_line(const char* name, std::uint64_t states, std::uint64_t violations,
                Clock::time_point start) {
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::printf("name=%s states=%llu violations=%llu secs=%.1f\n", name,
              static_cast<unsigned long long>(states), static_cast<unsigned long long>(violations),
              seconds);
  std::fflush(stdout);
}

// All subsets of up to `limit` unflushed writes; beyond, prefixes, whole disks, single writes and
// random choices.
io::CrashOptions subsets(std::uint64_t seed, std::uint32_t limit, std::uint32_t samples,
                         std::uint32_t tears = 2) {
  io::CrashOptions options;
  options.exhaustive_limit = limit;
  options.random_samples = samples;
  options.tears_per_write = tears;
  options.seed = seed;
  return options;
}

std::uint64_t enumerate(CrashWorld& world, const io::CrashOptions& options, const char* name) {
  const Clock::time_point start = Clock::now();
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
  print_line(name, tried, violations, start);
  REQUIRE(violations == 0);
  return tried;
}

TEST_CASE("crash: every subset of unflushed writes, each disk with a cache of its own", "[own]") {
  CrashWorld world({});
  world.run();
  CAPTURE(world.transactions(), world.checkpoints(), world.log_laps());
  REQUIRE(world.transactions() >= 40);
  REQUIRE(world.checkpoints() >= 2);
  REQUIRE(world.log_laps() >= 1);
  REQUIRE(enumerate(world, subsets(1, 8, 32), "crash-own-caches") >= 60'000);
}

TEST_CASE("crash: blocks of 4 KiB, torn whole") {
  CrashWorldOptions options;
  options.seed = 2;
  options.physical_block = 4096;
  options.log_size = 256 << 10;
  options.transactions = 48;
  CrashWorld world(options);
  world.run();
  enumerate(world, subsets(2, 4, 8, 1), "crash-4k-blocks");
}

// Here one flush makes a group durable, and whatever of several groups it does not cover may be
// lost or kept: many writes are pending at few moments, so each moment gets many samples.
TEST_CASE("crash: all disks behind one cache") {
  CrashWorldOptions options;
  options.seed = 3;
  options.flush_domain = 0;
  CrashWorld world(options);
  world.run();
  REQUIRE(enumerate(world, subsets(3, 9, 560), "crash-one-cache") >= 50'000);
}

TEST_CASE("crash: buffered commits among durable ones") {
  CrashWorldOptions options;
  options.seed = 5;
  options.buffered = true;
  options.transactions = 48;
  CrashWorld world(options);
  world.run();
  enumerate(world, subsets(5, 4, 8, 1), "crash-buffered");
}

TEST_CASE("crash: answers that wait for the fast copy of the log alone") {
  CrashWorldOptions options;
  options.seed = 6;
  options.log_durability = LogDurability::kFast;
  options.transactions = 32;
  CrashWorld world(options);
  world.run();
  enumerate(world, subsets(6, 3, 4, 1), "crash-fast-log");
}

TEST_CASE("crash: cells first, then the log") {
  CrashWorldOptions options;
  options.seed = 7;
  options.log_durability = LogDurability::kDataFirst;
  options.transactions = 32;
  CrashWorld world(options);
  world.run();
  enumerate(world, subsets(7, 4, 8, 1), "crash-data-first");
}

TEST_CASE("crash: recovery crashes at each of its own writes") {
  const Clock::time_point start = Clock::now();
  CrashWorldOptions world_options;
  world_options.seed = 4;
  CrashWorld world(world_options);
  world.run();
  io::CrashOptions sparse = subsets(4, 2, 2);
  sparse.tears_per_write = 0;
  std::uint64_t outer = 0;
  std::uint64_t inner = 0;
  std::uint64_t violations = 0;
  const io::CrashStates states(world.recorder(), sparse);
  std::uint64_t total = states.for_each([](const io::CrashState&) { return true; });
  const std::uint64_t every = std::max<std::uint64_t>(1, total / 110);
  states.for_each([&](const io::CrashState& state) {
    if (state.number() % every != 0) return true;
    ++outer;
    io::CrashRecorder again;
    const auto first = world.reopen(
        state, &again, [&](Store& store) { return world.check(store, state.position()); });
    violations += first.has_value() ? 1 : 0;
    io::CrashOptions nested = subsets(state.number(), 3, 4);
    nested.tears_per_write = 1;
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
  print_line("crash-nested", outer + inner, violations, start);
  REQUIRE(outer >= 100);
  REQUIRE(violations == 0);
}

TEST_CASE("crash: one seed gives one trace") {
  const auto trace_of = [](std::uint64_t seed) {
    CrashWorldOptions options;
    options.seed = seed;
    CrashWorld world(options);
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
