// Objects of more pages than one transaction deletes: cut short, with holes, written again before
// and after the background has taken back what was cut off, and crashed in all of that. And what an
// opening finds half taken back is taken back by it.
#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "core/record/record.h"
#include "tests/base/campaign.h"
#include "tests/core/noise.h"
#include "tests/crash/crash_sweep.h"
#include "tests/crash/crash_world.h"
#include "tests/crash/harness_line.h"

namespace hexad::testing {
namespace {

using core::kPageSpan;

constexpr const char* kHere = kDefaultCollection;

void write_pages(Transaction& t, const char* name, std::uint64_t from, std::uint64_t end) {
  for (std::uint64_t page = from; page < end; ++page) {
    t.write(kHere, name, page * kPageSpan, as_bytes(std::string_view("xy")));
  }
}

TEST_CASE("cut pages: no crash shows what was cut off, or loses what was written since") {
  const HarnessLine line("crash-cut-pages");
  // Each reads some hundred MiB.
  CheckpointSweep sweep;
  sweep.seed = 40;
  sweep.every = {1, 2, 1000};
  sweep.one_in = campaign_is_thorough() ? 29 : 151;
  sweep.crash = {.exhaustive_limit = 1, .random_samples = 1, .tears_per_write = 0};
  CrashWorldOptions options;
  options.before = [](Transaction& t) {
    write_pages(t, "a", 0, 75);
    t.write(kHere, "a", 30 * kPageSpan + 5, as_bytes(noise(3000, 1)));
    t.write(kHere, "a", 40 * kPageSpan + 5, as_bytes(noise(3000, 2)));
  };
  options.script = {
      [](Transaction& t) { t.truncate(kHere, "a", 5 * kPageSpan + 1); },
      [](Transaction& t) { t.write(kHere, "a", 30 * kPageSpan, as_bytes(noise(2000, 3))); },
      [](Transaction& t) {
        write_pages(t, "a", 4, 74);
        t.zero(kHere, "a", 2 * kPageSpan + 1, 71 * kPageSpan);
        t.write(kHere, "a", 40 * kPageSpan, as_bytes(noise(400, 4)));
      },
      [](Transaction& t) { t.clone(kHere, "a", kHere, "b"); },
      [](Transaction& t) { write_pages(t, "a", 0, 70); },
      [](Transaction& t) {
        t.truncate(kHere, "a", 1);
        t.rename(kHere, "a", kHere, "c");
      },
      [](Transaction& t) { t.remove(kHere, "c"); },
  };
  const CrashSweep totals = sweep_checkpoints(sweep, options);
  line.print({{"states", totals.states}, {"violations", totals.violations}});
  REQUIRE(totals.states > 5);
  REQUIRE(totals.violations == 0);
}

}  // namespace
}  // namespace hexad::testing
