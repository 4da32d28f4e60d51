// Transactions that find room in no zone, and have one made or several; some of them fail in the
// end, and leave zones that nobody has taken anything of.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "base/units.h"
#include "io/rng.h"
#include "tests/base/campaign.h"
#include "tests/core/noise.h"
#include "tests/crash/crash_sweep.h"
#include "tests/crash/crash_world.h"
#include "tests/crash/harness_line.h"

namespace hexad::testing {
namespace {

constexpr const char* kHere = kDefaultCollection;

void put_some(Transaction& t, const std::string& name, int count, std::uint64_t seed) {
  for (int i = 0; i < count; ++i) t.put(kHere, name + std::to_string(i), noise(100'000, seed));
}

TEST_CASE(
    "waiting zones: no crash shows a transaction in part, or loses one, while zones are made") {
  const HarnessLine line("crash-waiting-zones");
  CheckpointSweep sweep;
  sweep.seed = 60;
  sweep.every = {1, 2, 1000};
  sweep.one_in = campaign_is_thorough() ? 5 : 23;
  sweep.crash = {.exhaustive_limit = 2, .random_samples = 4, .tears_per_write = 1};
  CrashWorldOptions options;
  options.before = [](Transaction& t) { t.put(kHere, "first", noise(2'000, 1)); };
  // A zone has room for two of 100,000 bytes.
  options.script = {
      [](Transaction& t) { put_some(t, "a", 5, 2); },
      [](Transaction& t) {
        t.expect_absent(kHere, "a0");
        put_some(t, "b", 7, 3);
      },
      [](Transaction& t) { put_some(t, "b", 5, 4); },
      [](Transaction& t) {
        put_some(t, "a", 3, 5);
        for (int i = 0; i < 10; ++i) t.put(kHere, std::to_string(i), noise(9'000, 6));
      },
      [](Transaction& t) {
        t.remove(kHere, "b1");
        put_some(t, "c", 4, 7);
      },
  };
  const CrashSweep totals = sweep_checkpoints(sweep, options);
  line.print({{"states", totals.states}, {"violations", totals.violations}});
  REQUIRE(totals.states > 50);
  REQUIRE(totals.violations == 0);
}

// Some large objects at once, which leave the allocator somewhere in the last zone, with what they
// do not fill of those before. Then small pieces all over them, most of which wait for their group
// while zones are made.
CrashWorldOptions overwritten(std::uint64_t number) {
  CrashWorldOptions world;
  world.seed = campaign_seed_of(number);
  io::Rng rng(world.seed);
  world.slab_size = 64_KiB << rng.below(2);
  world.log_size = 128_KiB << rng.below(3);
  world.device_size = world.log_size + 32 * world.slab_size;
  world.buffered = true;
  world.pause = static_cast<io::Nanos>(rng.below(4)) * 300'000;
  const std::uint64_t zone = 4 * world.slab_size;
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t left = (2 + rng.below(5)) * zone + rng.below(zone); left > 0;) {
    sizes.push_back(std::min(left, zone / 5 + rng.below(zone / 3 * 2)));  // a zone can hold it
    left -= sizes.back();
  }
  world.script.emplace_back([sizes, seed = world.seed](Transaction& t) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      t.put(kHere, std::to_string(i), noise(sizes[i], seed));
    }
  });
  for (std::uint64_t i = 0; i < 60; ++i) {
    const std::size_t object = rng.below(sizes.size());
    const std::uint64_t offset = rng.below(sizes[object]);
    const std::string piece = noise(1 + rng.below(zone / 16), world.seed + i);
    world.script.emplace_back(
        [=](Transaction& t) { t.write(kHere, std::to_string(object), offset, as_bytes(piece)); });
  }
  return world;
}

// The log of each, and the crash states of some.
TEST_CASE(
    "waiting zones: zones that are made while unplaced blobs wait are named before they are used") {
  const HarnessLine line("crash-buffered-zones");
  const std::uint64_t worlds = campaign_is_thorough() ? 200 : 40;
  std::uint64_t beside = 0;
  CrashSweep totals;
  for (std::uint64_t number = 0; number < worlds && totals.violations == 0; ++number) {
    const CrashWorldOptions options = overwritten(number);
    CrashWorld world(options);
    world.run();
    CAPTURE(number, options.seed, options.slab_size, options.log_size);
    CHECK(world.log().zones() > 3);
    CHECK(world.log().problem() == "");
    beside += world.log().zones_beside_groups();
    if (number % 10 != 0) continue;
    io::CrashOptions crash{
        .exhaustive_limit = 1, .random_samples = 2, .tears_per_write = 1, .seed = options.seed};
    sweep_crashes(
        world, crash, [&](std::uint64_t state) { return (state + number) % 499 == 0; },
        "world " + std::to_string(number), totals);
  }
  line.print({{"worlds", worlds},
              {"beside", beside},
              {"states", totals.states},
              {"violations", totals.violations}});
  REQUIRE(totals.states > worlds / 10);
  REQUIRE(totals.violations == 0);
  if (campaign_seed() == 0) REQUIRE(beside > 0);  // it is few, and other seeds may have none
}

}  // namespace
}  // namespace hexad::testing
