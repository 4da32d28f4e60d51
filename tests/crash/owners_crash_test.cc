// Small objects that are written under another name and renamed, cloned, cloned in part and given
// pages, of which most are removed, so that the cleaner moves what is left of them in all lists
// that show it: crashed in all of that. fsck sees in every state whether each forwarded blob has
// its key, and each key its blob (F14).
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
constexpr int kAtOnce = 100;  // objects

std::string name_of(int i) { return "o" + std::to_string(i); }
std::string temporary_of(int i) { return "t" + std::to_string(i); }

void put_some(Transaction& t, int from, std::uint64_t seed) {
  for (int i = from; i < from + kAtOnce; ++i) t.put(kHere, temporary_of(i), noise(1400, seed + i));
}

void rename_some(Transaction& t, int from) {
  for (int i = from; i < from + kAtOnce; ++i) {
    t.remove(kHere, name_of(i));
    t.rename(kHere, temporary_of(i), kHere, name_of(i));
  }
}

// All but every so many-th.
void remove_most(Transaction& t, int from, int kept) {
  for (int i = from; i < from + kAtOnce; ++i) {
    if (i % kept != 0) t.remove(kHere, name_of(i));
  }
}

TEST_CASE("owners: no crash parts a blob from the keys that lead to its owners") {
  const HarnessLine line("crash-owners");
  std::uint64_t moved = 0;
  CheckpointSweep sweep;
  sweep.seed = 190;
  sweep.every = {1, 4, 1000};
  sweep.one_in = campaign_is_thorough() ? 7 : 53;
  sweep.crash = {.exhaustive_limit = 2, .random_samples = 3, .tears_per_write = 1};
  CrashWorldOptions options;
  options.log_size = 192 << 10;  // records of this length
  options.before = [](Transaction& t) { put_some(t, 0, 1); };
  options.script = {
      [](Transaction& t) { rename_some(t, 0); },
      [](Transaction& t) { put_some(t, kAtOnce, 1); },
      [](Transaction& t) { rename_some(t, kAtOnce); },
      [](Transaction& t) {
        for (int i = 7; i < 2 * kAtOnce; i += 21) {
          t.clone(kHere, name_of(i), kHere, "clone" + std::to_string(i));
        }
      },
      [](Transaction& t) {
        for (int i = 14; i < 2 * kAtOnce; i += 21) {
          t.clone_range(kHere, name_of(i), 100, 800, kHere, "ranges", i * 1000);
        }
      },
      [](Transaction& t) { remove_most(t, kAtOnce, 7); },
      [](Transaction& t) { remove_most(t, 0, 7); },
      [](Transaction& t) { t.write(kHere, name_of(14), 1 << 20, as_bytes(noise(600, 500))); },
      [](Transaction& t) { t.rename(kHere, name_of(14), kHere, "large"); },
      [](Transaction& t) { t.remove(kHere, name_of(7)); },
      [](Transaction& t) { t.rename(kHere, "clone28", kHere, "again"); },
      [](Transaction& t) { t.clone(kHere, "again", kHere, name_of(28)); },
      [](Transaction& t) {
        put_some(t, 0, 1000);
        rename_some(t, 0);
      },
      [](Transaction& t) { put_some(t, kAtOnce, 1000); },
      [](Transaction& t) { rename_some(t, kAtOnce); },
      [](Transaction& t) { remove_most(t, 0, 5); },
      [](Transaction& t) { remove_most(t, kAtOnce, 5); },
      [](Transaction& t) { t.remove(kHere, "ranges"); },
      [](Transaction& t) { t.rename(kHere, name_of(10), kHere, name_of(11)); },
      [](Transaction& t) { t.rename(kHere, name_of(11), kHere, name_of(10)); },
      [](Transaction& t) { t.remove(kHere, "again"); },
      [](Transaction& t) { t.touch(kHere, "last"); },
  };
  const CrashSweep totals =
      sweep_checkpoints(sweep, options, [&](CrashWorld& world) { moved += world.blobs_moved(); });
  line.print({{"states", totals.states}, {"violations", totals.violations}, {"moved", moved}});
  REQUIRE(moved > 20);
  REQUIRE(totals.states > 50);
  REQUIRE(totals.violations == 0);
}

}  // namespace
}  // namespace hexad::testing
