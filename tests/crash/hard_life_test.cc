// Random transactions on stores that have a hard life, against a model of plain maps: whatever goes
// wrong with two disks, and whenever the power fails, all answers are right.
#include <catch2/catch.hpp>

#include "tests/base/campaign.h"
#include "tests/crash/ailing_pool.h"
#include "tests/crash/harness_line.h"

namespace hexad::testing {
namespace {

struct Life {
  RunnerTally runner;
  AilingTally pool;
};

Life live(std::uint64_t seed, std::uint64_t ops) {
  Life life;
  io::SimOptions sim;
  sim.seed = seed;
  if (seed % 4 == 3) sim.disk.physical_block = 512;
  if (seed % 7 == 3) sim.disk.volatile_cache = false;
  io::SimSystem system(sim);
  system.run([&] {
    AilingPool pool(system, seed);
    if (const Status made = pool.format(); !made.ok()) {
      life.runner.difference = "seed " + std::to_string(seed) + ": " + made.error().to_string();
      return;
    }
    RunnerOptions options;
    options.seed = seed;
    options.ops = ops;
    options.big_one_in = 10;
    life.runner = run_store(pool, options);
    life.pool = pool.tally();
  });
  return life;
}

void live_all(std::uint64_t first, std::uint64_t count, std::uint64_t ops) {
  const HarnessLine line("hard-life");
  RunnerTally runner;
  AilingTally pool;
  std::uint64_t violations = 0;
  for (std::uint64_t number = first; number < first + count; ++number) {
    const std::uint64_t seed = campaign_seed_of(number);
    const Life life = live(seed, ops);
    runner.add(life.runner);
    pool.faults += life.pool.faults;
    pool.crashes += life.pool.crashes;
    pool.lost += life.pool.lost;
    pool.old_images += life.pool.old_images;
    pool.indexes += life.pool.indexes;
    pool.drains += life.pool.drains;
    pool.moves += life.pool.moves;
    pool.returns += life.pool.returns;
    violations += life.runner.difference.empty() ? 0 : 1;
    CHECK(life.runner.difference == "");
    REQUIRE(violations < 5);
  }
  line.print({{"seeds", count},
              {"ops", runner.ops},
              {"openings", runner.reopened},
              {"crashes", pool.crashes},
              {"faults", pool.faults},
              {"lost", pool.lost},
              {"old", pool.old_images},
              {"indexes", pool.indexes},
              {"drains", pool.drains},
              {"moves", pool.moves},
              {"returns", pool.returns},
              {"violations", violations}});
  REQUIRE(violations == 0);
  REQUIRE(pool.crashes > count);
  REQUIRE(pool.faults > 100 * count);
  REQUIRE(pool.lost > 0);
  REQUIRE(pool.drains > count / 10);
  REQUIRE(pool.moves > 0);
}

TEST_CASE("hard life: random transactions while two disks go wrong and the power fails") {
  live_all(1, 100, 1000);
}

// By name alone.
TEST_CASE("hard life: many of them", "[.long]") { live_all(1000, 2000, 1500); }

}  // namespace
}  // namespace hexad::testing
