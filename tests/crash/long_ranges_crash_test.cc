// Ranges of more pages than a transaction shows one by one: the range is copied first, in several
// records beside the commits, under a body that only the transaction gives to an object. A crash
// amid the copying leaves nothing of it, one behind the transaction leaves all of it; and what
// the source, or the destination, is written meanwhile and afterwards is not mixed up.
//
// "One by one" is two pages here instead of kMaxClonedPages, and the log is so small that a record
// holds a few copied pages only.
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
constexpr std::uint64_t kPages = 24;

void write_pages(Transaction& t, const char* name, std::uint64_t from, std::uint64_t end) {
  for (std::uint64_t page = from; page < end; ++page) {
    t.write(kHere, name, page * kPageSpan + page, as_bytes(noise(50, page)));
    t.write(kHere, name, page * kPageSpan + 500, as_bytes(noise(50, page + 100)));
  }
}

TEST_CASE("long ranges: no crash shows a range in part, or leaves what was copied for it") {
  const HarnessLine line("crash-long-ranges");
  CheckpointSweep sweep;
  sweep.seed = 80;
  sweep.every = {1, 2, 1000};
  sweep.one_in = campaign_is_thorough() ? 7 : 61;
  sweep.crash = {.exhaustive_limit = 1, .random_samples = 1, .tears_per_write = 0};
  CrashWorldOptions options;
  options.ranges_at_once = 2;
  options.before = [](Transaction& t) {
    write_pages(t, "a", 0, kPages);
    t.write(kHere, "a", 3 * kPageSpan + 5, as_bytes(noise(3000, 1)));
    t.write(kHere, "a", 9 * kPageSpan + 500, as_bytes(noise(9000, 2)));
    t.put(kHere, "b", noise(2000, 3));
  };
  options.script = {
      // Into an object that is not there, at the same places.
      [](Transaction& t) { t.clone_range(kHere, "a", 0, kPages * kPageSpan / 2, kHere, "c", 0); },
      // Shifted by no whole number of pages, behind what the destination has.
      [](Transaction& t) {
        t.clone_range(kHere, "a", kPageSpan + 7, 12 * kPageSpan, kHere, "b", 5 * kPageSpan / 2);
      },
      // Source and destinations are written again, before and after the next one.
      [](Transaction& t) {
        write_pages(t, "a", 2, 5);
        t.write(kHere, "c", 3 * kPageSpan, as_bytes(noise(700, 4)));
        t.zero(kHere, "b", 6 * kPageSpan, 2 * kPageSpan);
      },
      [](Transaction& t) {
        t.write(kHere, "a", 10 * kPageSpan, as_bytes(noise(5000, 5)));
        t.clone_range(kHere, "a", 0, (kPages - 1) * kPageSpan, kHere, "c", kPageSpan / 2);
      },
      // Of a copy, and within itself.
      [](Transaction& t) {
        t.clone_range(kHere, "c", 0, 8 * kPageSpan, kHere, "c", 30 * kPageSpan);
      },
      [](Transaction& t) { t.truncate(kHere, "a", 4 * kPageSpan); },
      [](Transaction& t) { t.remove(kHere, "c"); },
  };
  const CrashSweep totals = sweep_checkpoints(sweep, options, [&](CrashWorld& world) {
    REQUIRE(world.transactions() == options.script.size());
    REQUIRE(world.own_records() >= 8);  // several for each of the ranges
  });
  line.print({{"states", totals.states}, {"violations", totals.violations}});
  REQUIRE(totals.states > 20);
  REQUIRE(totals.violations == 0);
}

}  // namespace
}  // namespace hexad::testing
