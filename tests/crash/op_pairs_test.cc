// Every op on objects and collections after every other one, on a store that has something of each
// kind, crashed at points of both and of the checkpoint between them: a sample of them in every
// test run, all by name alone. Streams are in hard_life_test; guards write nothing.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/base/campaign.h"
#include "tests/core/noise.h"
#include "tests/crash/crash_sweep.h"
#include "tests/crash/crash_world.h"
#include "tests/crash/harness_line.h"

namespace hexad::testing {
namespace {

constexpr const char* kHere = kDefaultCollection;
constexpr const char* kOther = "other";

// Objects whose data is inline, in the log, in a stripe, and shared; with attributes and omaps; a
// collection that is empty, and one whose names have two prefixes.
void begin_with(Transaction& t) {
  t.put(kHere, "inline", noise(60, 1));
  t.put(kHere, "log", noise(900, 2));
  t.put(kHere, "big", noise(9000, 3));
  for (const char* name : {"inline", "big"}) {
    t.set_attr(kHere, name, "kind", name);
    t.omap_set(kHere, name, "a", "small");
    t.omap_set(kHere, name, "b", noise(3000, 4));
    t.omap_set_header(kHere, name, as_bytes(std::string_view("header")));
  }
  t.clone(kHere, "big", kHere, "clone");
  t.put(kOther, "one", noise(100, 5));
  t.put(kOther, "two", noise(5000, 6));
  t.create_collection("empty");
  t.create_collection("mixed");
  for (const char* name : {"p1", "p2", "q1"}) t.put("mixed", name, noise(2000, 7));
}

struct Op {
  const char* name;
  CrashWorldOptions::Script add;
};

std::vector<Op> all_ops() {
  using T = Transaction;
  compression::Policy policy;
  policy.mode = compression::Mode::kForce;
  Quota quota;
  quota.objects = 4;
  return {
      {"put small", [](T& t) { t.put(kHere, "new", noise(80, 10)); }},
      {"put large", [](T& t) { t.put(kHere, "new", noise(6000, 11)); }},
      {"put large over small", [](T& t) { t.put(kHere, "inline", noise(7000, 12)); }},
      {"put small over large", [](T& t) { t.put(kHere, "big", noise(50, 13)); }},
      {"write inside", [](T& t) { t.write(kHere, "big", 300, as_bytes(noise(2500, 14))); }},
      {"write behind", [](T& t) { t.write(kHere, "log", 5000, as_bytes(noise(700, 15))); }},
      {"append to large", [](T& t) { t.append(kHere, "big", as_bytes(noise(40, 16))); }},
      {"append to small", [](T& t) { t.append(kHere, "inline", as_bytes(noise(3000, 17))); }},
      {"zero", [](T& t) { t.zero(kHere, "big", 100, 5000); }},
      {"cut", [](T& t) { t.truncate(kHere, "big", 1000); }},
      {"extend", [](T& t) { t.truncate(kHere, "log", 20'000); }},
      {"empty", [](T& t) { t.truncate(kHere, "inline", 0); }},
      {"remove small", [](T& t) { t.remove(kHere, "inline"); }},
      {"remove large", [](T& t) { t.remove(kHere, "big"); }},
      {"remove clone", [](T& t) { t.remove(kHere, "clone"); }},
      {"remove range", [](T& t) { t.remove_range(kHere, "b", "j"); }},
      {"touch", [](T& t) { t.touch(kHere, "new"); }},
      {"create", [](T& t) { t.create(kHere, "new"); }},
      {"set attr", [](T& t) { t.set_attr(kHere, "big", "color", noise(300, 18)); }},
      {"set attrs",
       [](T& t) {
         t.set_attrs(kHere, "log", {{"x", "1"}, {"y", "2"}});
       }},
      {"remove attr", [](T& t) { t.remove_attr(kHere, "big", "kind"); }},
      {"remove attrs", [](T& t) { t.remove_attrs(kHere, "inline"); }},
      {"set hint", [](T& t) { t.set_hint(kHere, "log", Hint::kCompressible); }},
      {"omap set small", [](T& t) { t.omap_set(kHere, "big", "c", "value"); }},
      {"omap set large", [](T& t) { t.omap_set(kHere, "log", "a", noise(5000, 19)); }},
      {"omap set over", [](T& t) { t.omap_set(kHere, "clone", "b", noise(20, 20)); }},
      {"omap remove", [](T& t) { t.omap_remove(kHere, "big", "b"); }},
      {"omap remove range", [](T& t) { t.omap_remove_range(kHere, "inline", "a", ""); }},
      {"omap clear", [](T& t) { t.omap_clear(kHere, "big"); }},
      {"omap header", [](T& t) { t.omap_set_header(kHere, "clone", as_bytes(noise(500, 21))); }},
      {"rename", [](T& t) { t.rename(kHere, "big", kHere, "moved"); }},
      {"rename elsewhere", [](T& t) { t.rename(kHere, "inline", kOther, "three"); }},
      {"clone", [](T& t) { t.clone(kHere, "big", kOther, "copy"); }},
      {"clone over", [](T& t) { t.clone(kHere, "big", kHere, "log"); }},
      {"clone range", [](T& t) { t.clone_range(kHere, "big", 100, 6000, kHere, "log", 50); }},
      {"create collection", [](T& t) { t.create_collection("fresh"); }},
      {"remove empty", [](T& t) { t.remove_collection("empty"); }},
      {"remove with all", [](T& t) { t.remove_collection(kOther, Contents::kRemoved); }},
      {"split", [](T& t) { t.split_collection("mixed", "p", "empty"); }},
      {"merge", [](T& t) { t.merge_collection("mixed", kOther); }},
      {"set policy", [policy](T& t) { t.set_policy(kHere, policy); }},
      {"set quota", [quota](T& t) { t.set_quota(kOther, quota); }},
  };
}

// One in so many of the pairs whose number leaves `rest` when divided by two, and one in so many
// states of each. Other pairs, and other states from pair to pair, for each seed of the campaign.
void sweep(std::size_t rest, std::uint64_t pairs_one_in, std::uint64_t one_in) {
  const HarnessLine line("crash-op-pairs");
  const std::vector<Op> ops = all_ops();
  std::uint64_t pairs = 0;
  CrashSweep totals;
  for (std::size_t i = 0; i < ops.size() * ops.size(); ++i) {
    if (i % 2 != rest || !campaign_picks(i / 2, pairs_one_in)) continue;
    const Op& first = ops[i / ops.size()];
    const Op& second = ops[i % ops.size()];
    ++pairs;
    CrashWorldOptions options;
    options.seed = campaign_seed_of(i + 1);
    options.checkpoint_every = i / 2 % 2 == 0 ? 2 : 1000;  // between the two, or never
    options.before = begin_with;
    options.script = {first.add, second.add};
    CrashWorld world(options);
    world.run();
    io::CrashOptions crash{
        .exhaustive_limit = 1, .random_samples = 1, .tears_per_write = 0, .seed = options.seed};
    sweep_crashes(
        world, crash,
        [&](std::uint64_t number) { return (number + i + campaign_seed()) % one_in == 0; },
        std::string(first.name) + ", " + second.name, totals);
    REQUIRE(totals.violations < 5);
  }
  line.print({{"pairs", pairs}, {"states", totals.states}, {"violations", totals.violations}});
  REQUIRE(totals.violations == 0);
}

// Of every other pair, and of all when it is thorough.
void sample(std::size_t rest) { sweep(rest, 2, campaign_is_thorough() ? 8 : 96); }

TEST_CASE("op pairs: ops after other ones, even pairs", "[even]") { sample(0); }
TEST_CASE("op pairs: ops after other ones, odd pairs", "[odd]") { sample(1); }

// By name alone.
TEST_CASE("op pairs: all states", "[.long]") {
  sweep(0, 1, 1);
  sweep(1, 1, 1);
}

}  // namespace
}  // namespace hexad::testing
