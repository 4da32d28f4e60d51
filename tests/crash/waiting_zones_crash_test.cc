// Transactions that find room in no zone, and have one made or several; some of them fail in the
// end, and leave zones that nobody has taken anything of.
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
  sweep.crash.exhaustive_limit = 2;
  sweep.crash.random_samples = 4;
  sweep.crash.tears_per_write = 1;
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

}  // namespace
}  // namespace hexad::testing
