// Small objects of which most are removed, so that the cleaner moves the others, and large ones
// that are overwritten in part, so that it compacts them, while these are overwritten, cloned and
// removed too: crashed in all of that, and in the recoveries behind that.
#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/base/campaign.h"
#include "tests/core/noise.h"
#include "tests/crash/crash_sweep.h"
#include "tests/crash/crash_world.h"
#include "tests/crash/harness_line.h"

namespace hexad::testing {
namespace {

constexpr const char* kHere = kDefaultCollection;
constexpr int kAtOnce = 100;  // objects
// So long behind the last commit all is done that is done at rest.
constexpr io::Nanos kRest = 3'000'000'000;

std::string name_of(int i) { return "o" + std::to_string(i); }

void put_some(Transaction& t, int from, std::uint64_t seed) {
  for (int i = from; i < from + kAtOnce; ++i) t.put(kHere, name_of(i), noise(1400, seed + i));
}

// All but every so many-th.
void remove_most(Transaction& t, int from, int kept) {
  for (int i = from; i < from + kAtOnce; ++i) {
    if (i % kept != 0) t.remove(kHere, name_of(i));
  }
}

// Most are removed twice, and between that what is moved is changed in every way.
CrashWorldOptions much_removed() {
  CrashWorldOptions options;
  options.log_size = 192 << 10;  // records of this length
  options.before = [](Transaction& t) { put_some(t, 0, 1); };
  options.script = {
      [](Transaction& t) { put_some(t, kAtOnce, 1); },
      [](Transaction& t) { remove_most(t, kAtOnce, 7); },
      [](Transaction& t) { remove_most(t, 0, 7); },
      [](Transaction& t) { t.put(kHere, name_of(7), noise(1400, 500)); },
      [](Transaction& t) { t.clone(kHere, name_of(14), kHere, "clone"); },
      [](Transaction& t) { t.write(kHere, name_of(21), 10, as_bytes(noise(300, 501))); },
      [](Transaction& t) { t.remove(kHere, name_of(28)); },
      [](Transaction& t) { t.rename(kHere, name_of(35), kHere, "renamed"); },
      [](Transaction& t) { put_some(t, 0, 1000); },
      [](Transaction& t) { put_some(t, kAtOnce, 1000); },
      [](Transaction& t) { remove_most(t, 0, 5); },
      [](Transaction& t) { remove_most(t, kAtOnce, 5); },
      [](Transaction& t) { t.append(kHere, name_of(10), as_bytes(noise(2000, 502))); },
      [](Transaction& t) { t.put(kHere, name_of(5), noise(1400, 503)); },
      [](Transaction& t) { t.remove(kHere, "clone"); },
      [](Transaction& t) { t.touch(kHere, "last"); },
  };
  return options;
}

TEST_CASE("cleaning: no crash loses what is moved, or brings back what has died meanwhile") {
  const HarnessLine line("crash-cleaning");
  std::uint64_t moved = 0;
  CheckpointSweep sweep;
  sweep.seed = 90;
  sweep.every = {1, 4, 1000};
  sweep.one_in = campaign_is_thorough() ? 7 : 41;
  sweep.crash = {.exhaustive_limit = 2, .random_samples = 3, .tears_per_write = 1};
  const CrashSweep totals = sweep_checkpoints(
      sweep, much_removed(), [&](CrashWorld& world) { moved += world.blobs_moved(); });
  line.print({{"states", totals.states}, {"violations", totals.violations}, {"moved", moved}});
  REQUIRE(moved > 20);
  REQUIRE(totals.states > 50);
  REQUIRE(totals.violations == 0);
}

// Objects of some KiB, of which small writes leave parts.
constexpr int kLarge = 6;
constexpr std::size_t kLargeBytes = 12'000;

std::string large_of(int i, const std::string& prefix = "large") {
  return prefix + std::to_string(i);
}

void put_large(Transaction& t, std::uint64_t seed, const std::string& prefix = "large") {
  for (int i = 0; i < kLarge; ++i) t.put(kHere, large_of(i, prefix), noise(kLargeBytes, seed + i));
}

// Two thirds of each.
void overwrite_large(Transaction& t, std::uint64_t seed, const std::string& prefix = "large") {
  for (int i = 0; i < kLarge; ++i) {
    for (std::size_t at = 0; at < kLargeBytes; at += 3000) {
      t.write(kHere, large_of(i, prefix), at, as_bytes(noise(2000, seed + at)));
    }
  }
}

// Parts of them are written, and while the rest is compacted it is changed in every way.
CrashWorldOptions much_overwritten() {
  CrashWorldOptions options;
  options.log_size = 192 << 10;
  options.pause = kRest;
  options.before = [](Transaction& t) { put_large(t, 1); };
  options.script = {
      [](Transaction& t) { t.touch(kHere, "first"); },
      [](Transaction& t) { overwrite_large(t, 100); },
      [](Transaction& t) { t.write(kHere, large_of(0), 2500, as_bytes(noise(900, 500))); },
      [](Transaction& t) { t.clone(kHere, large_of(1), kHere, "clone"); },
      [](Transaction& t) { t.rename(kHere, large_of(2), kHere, "renamed"); },
      [](Transaction& t) { t.remove(kHere, large_of(3)); },
      [](Transaction& t) { put_large(t, 1000); },
      [](Transaction& t) { t.touch(kHere, "second"); },
      [](Transaction& t) { overwrite_large(t, 2000); },
      [](Transaction& t) { t.write(kHere, "clone", 2100, as_bytes(noise(700, 501))); },
      [](Transaction& t) { t.clone_range(kHere, large_of(4), 2000, 1000, kHere, "part", 0); },
      [](Transaction& t) { t.append(kHere, large_of(5), as_bytes(noise(2000, 502))); },
      [](Transaction& t) { t.remove(kHere, "clone"); },
      [](Transaction& t) { t.touch(kHere, "last"); },
  };
  return options;
}

TEST_CASE("compaction: no crash loses what is written again, or brings back what was overwritten") {
  const HarnessLine line("crash-compaction");
  std::uint64_t compacted = 0;
  CheckpointSweep sweep;
  sweep.seed = 190;
  sweep.every = {1, 4, 1000};
  sweep.one_in = campaign_is_thorough() ? 7 : 41;
  sweep.crash = {.exhaustive_limit = 2, .random_samples = 3, .tears_per_write = 1};
  const CrashSweep totals = sweep_checkpoints(
      sweep, much_overwritten(), [&](CrashWorld& world) { compacted += world.lists_compacted(); });
  line.print(
      {{"states", totals.states}, {"violations", totals.violations}, {"compacted", compacted}});
  REQUIRE(compacted > 10);
  REQUIRE(totals.states > 50);
  REQUIRE(totals.violations == 0);
}

// --- recoveries that are crashed, too ------------------------------------------------------------

// What comes and goes behind a recovery, so that there is something to do again.
struct Passing {
  std::vector<void (*)(Transaction&)> changes;
  std::string_view done;  // the counter of what is done about it at rest
};

void put_passing(Transaction& t) {
  for (int i = 0; i < kAtOnce; ++i) t.put(kHere, "passing" + std::to_string(i), noise(1400, i));
}
void remove_passing(Transaction& t) { t.remove_range(kHere, "passing", "passinh"); }
void put_passing_large(Transaction& t) { put_large(t, 3000, "passing"); }
void overwrite_passing_large(Transaction& t) { overwrite_large(t, 4000, "passing"); }

Status commit(Store& store, void (*change)(Transaction&)) {
  Transaction t;
  change(t);
  return store.commit(std::move(t)).status();
}

// What `state` leaves is opened and recorded: recovery, and what is done behind it, until the store
// is at rest. Returns what is wrong.
std::optional<std::string> recover_and_go_on(CrashWorld& world, const Passing& passing,
                                             const io::CrashState& state,
                                             io::CrashRecorder& recorder, std::uint64_t& done) {
  const auto use = [&](Store& store, io::Executor& executor) -> std::optional<std::string> {
    if (auto problem = world.check(store, state.position())) return problem;
    for (const auto change : passing.changes) {
      const Status changed = commit(store, change);
      if (!changed.ok()) return changed.error().to_string();
    }
    executor.sleep_for(kRest);
    for (const Counter& counter : store.counters()) {
      if (counter.name == passing.done) done += counter.since_open;
    }
    return std::nullopt;
  };
  return world.reopen(state, &recorder, CrashWorld::UseInTime(use));
}

// Every cell is what it should be, and all space comes back when everything is removed.
std::optional<std::string> look_deep_and_empty(Store& store, io::Executor& executor) {
  const Result<FsckReport> report = store.fsck({.deep = true});
  if (!report.ok()) return "deep fsck: " + report.error().to_string();
  if (!report->findings.empty()) {
    return "deep fsck: " + report->findings[0].subject + ": " + report->findings[0].problem;
  }
  const Status removed = commit(store, [](Transaction& t) { t.remove_range(kHere, "", ""); });
  if (!removed.ok()) return "removing all: " + removed.error().to_string();
  SpaceUsage space;
  for (int i = 0; i < 20; ++i) {
    if (const Status status = store.checkpoint(); !status.ok()) return status.error().to_string();
    Result<SpaceUsage> now = store.space();
    if (!now.ok()) return now.error().to_string();
    space = *std::move(now);
    const std::uint64_t unused =
        space.available + space.internally_reserved + space.internal_metadata;
    if (space.allocated == 0 && unused == space.capacity) return std::nullopt;
    executor.sleep_for(kRest);
  }
  return "all is removed, and " + std::to_string(space.allocated) + " bytes of " +
         std::to_string(space.capacity) + " stay allocated";
}

struct NestedCrashes {
  std::uint64_t outer = 0;
  std::uint64_t inner = 0;
  std::uint64_t done = 0;  // behind the outer ones
  std::uint64_t violations = 0;
};

// A part of the crashes of the run, and a part of the crashes of what comes behind each of them. In
// `./run prove` one recovery in ten is crashed in all of its states.
NestedCrashes crash_twice(CrashWorld& world, std::uint64_t seed, const Passing& passing) {
  io::CrashOptions crash{
      .exhaustive_limit = 2, .random_samples = 2, .tears_per_write = 0, .seed = seed};
  const io::CrashStates states(world.recorder(), crash);
  const std::uint64_t all = states.for_each([](const io::CrashState&) { return true; });
  const std::uint64_t wanted = campaign_is_thorough() ? 120 : 12;
  const std::uint64_t every = std::max<std::uint64_t>(1, all / wanted);
  NestedCrashes totals;
  states.for_each([&](const io::CrashState& state) {
    if (state.number() % every != campaign_seed() % every) return true;
    ++totals.outer;
    const std::uint64_t one_in = !campaign_is_thorough() ? 29 : totals.outer % 10 == 5 ? 1 : 5;
    io::CrashRecorder again;
    const auto first = recover_and_go_on(world, passing, state, again, totals.done);
    CAPTURE(state.describe());
    CHECK(first.value_or("") == "");
    totals.violations += first.has_value() ? 1 : 0;
    crash.seed = state.number();
    io::CrashStates(again, crash).for_each([&](const io::CrashState& second) {
      if ((second.number() + campaign_seed()) % one_in != 0) return true;
      ++totals.inner;
      const auto use = [&](Store& store, io::Executor& executor) -> std::optional<std::string> {
        const Status removed = commit(store, remove_passing);
        if (!removed.ok()) return removed.error().to_string();
        if (auto problem = world.check(store, state.position())) return problem;
        if (totals.inner % 8 != 0) return std::nullopt;
        return look_deep_and_empty(store, executor);
      };
      const auto problem = world.reopen(second, nullptr, CrashWorld::UseInTime(use));
      CAPTURE(second.describe());
      CHECK(problem.value_or("") == "");
      totals.violations += problem.has_value() ? 1 : 0;
      return totals.violations < 5;
    });
    return totals.violations < 5;
  });
  return totals;
}

TEST_CASE("cleaning: a crash in the recovery of a crash, and in the moves behind that") {
  const HarnessLine line("crash-cleaning-nested");
  CrashWorldOptions options = much_removed();
  options.seed = campaign_seed_of(290);
  options.checkpoint_every = 4;
  CrashWorld world(options);
  world.run();
  const NestedCrashes totals =
      crash_twice(world, options.seed, {{put_passing, remove_passing}, "cleaned_blobs"});
  line.print({{"states", totals.outer + totals.inner},
              {"violations", totals.violations},
              {"moved", totals.done}});
  REQUIRE(totals.done > 20);
  REQUIRE(totals.outer >= 10);
  REQUIRE(totals.inner >= 200);
  REQUIRE(totals.violations == 0);
}

TEST_CASE("compaction: a crash in the recovery of a crash, and in the compaction behind that") {
  const HarnessLine line("crash-compaction-nested");
  CrashWorldOptions options = much_overwritten();
  options.seed = campaign_seed_of(390);
  options.checkpoint_every = 4;
  CrashWorld world(options);
  world.run();
  REQUIRE(world.lists_compacted() > 0);
  const NestedCrashes totals = crash_twice(
      world, options.seed, {{put_passing_large, overwrite_passing_large}, "compacted_lists"});
  line.print({{"states", totals.outer + totals.inner},
              {"violations", totals.violations},
              {"compacted", totals.done}});
  REQUIRE(totals.done > 20);
  REQUIRE(totals.outer >= 10);
  REQUIRE(totals.inner >= 200);
  REQUIRE(totals.violations == 0);
}

}  // namespace
}  // namespace hexad::testing
