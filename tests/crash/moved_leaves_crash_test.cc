// Runs of names that ascend are merged by taking leaves over as they are. Whatever a crash leaves
// of such a merge, and of the checkpoint that brings it in, the objects are what they were.
//
// A leaf is full with few objects where names are long and differ at their ends only, two by two,
// and each record fills a block.
#include <catch2/catch.hpp>
#include <string>

#include "tests/base/campaign.h"
#include "tests/core/noise.h"
#include "tests/crash/crash_sweep.h"
#include "tests/crash/crash_world.h"
#include "tests/crash/harness_line.h"

namespace hexad::testing {
namespace {

constexpr const char* kHere = kDefaultCollection;
constexpr int kObjects = 16;        // of a transaction
constexpr int kTransactions = 160;  // that make new ones

std::string name_of(int number) {
  std::string name = noise(1000, static_cast<std::uint64_t>(number) / 2);
  for (char& c : name) c = static_cast<char>('a' + static_cast<unsigned char>(c) % 26);
  const std::string digits = std::to_string(1000 + number / 2);
  return digits + name + (number % 2 == 0 ? "a" : "b");
}

TEST_CASE(
    "moved leaves: no crash amid a merge that takes them over loses or brings back anything") {
  const HarnessLine line("crash-moved-leaves");
  CheckpointSweep sweep;
  sweep.seed = 90;
  sweep.every = {8};
  sweep.one_in = campaign_is_thorough() ? 41 : 401;
  sweep.crash = {.exhaustive_limit = 1, .random_samples = 1, .tears_per_write = 0};
  CrashWorldOptions options;
  options.log_size = 4 << 20;
  options.device_size = 32 << 20;
  for (int i = 0; i < kTransactions; ++i) {
    options.script.push_back([i](Transaction& t) {
      for (int j = i * kObjects; j < (i + 1) * kObjects; ++j) {
        t.create(kHere, name_of(j));
        t.set_attr(kHere, name_of(j), "a", noise(12'000, static_cast<std::uint64_t>(j)));
      }
      // And some older ones go, or change.
      if (i % 8 == 7) {
        t.remove(kHere, name_of((i - 6) * kObjects));
        t.set_attr(kHere, name_of((i - 3) * kObjects), "a", "changed");
      }
    });
  }
  const CrashSweep totals = sweep_checkpoints(sweep, options, [&](CrashWorld& world) {
    CAPTURE(world.checkpoints(), world.runs_merged(), world.merge_moved());
    REQUIRE(world.transactions() == options.script.size());
    REQUIRE(world.runs_merged() >= 4);
    REQUIRE(world.merge_moved() > 200'000);
  });
  line.print({{"states", totals.states}, {"violations", totals.violations}});
  REQUIRE(totals.states > 20);
  REQUIRE(totals.violations == 0);
}

}  // namespace
}  // namespace hexad::testing
