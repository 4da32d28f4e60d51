// Random transactions on a store whose cleaner never rests: behind every second one simulated time
// passes, in which all that pays is moved and compacted. Beside that objects are read as they were
// many transactions ago; clones, renames, splits, omaps and buffered commits are among the
// transactions, and openings between them.
#include <catch2/catch.hpp>
#include <cstdio>
#include <memory>
#include <utility>

#include "tests/base/campaign.h"
#include "tests/base/thinned.h"
#include "tests/core/sim_pool.h"
#include "tests/core/store_fixture.h"
#include "tests/core/store_runner.h"

namespace hexad::testing {
namespace {

// Everything in one fiber of the simulation.
class SimTarget final : public ReopenedTarget {
 public:
  SimTarget(SimPool& pool, const RuntimeOptions& runtime) : ReopenedTarget(runtime), pool_(pool) {}
  ~SimTarget() override { drop(); }

  Status reopen(Ending ending, Access access) override {
    count();
    return ReopenedTarget::reopen(ending, access);
  }
  void wait() override { pool_.sleep(3'000'000'000); }

  // Adds what the cleaner has done since the opening.
  void count() {
    moved += counter(store(), "cleaned_blobs");
    compacted += counter(store(), "compacted_lists");
  }
  std::uint64_t moved = 0;
  std::uint64_t compacted = 0;

 private:
  Result<Store> open_store(const RuntimeOptions& runtime) override {
    return Store::open(pool_.pool(), runtime, &pool_.system());
  }

  SimPool& pool_;
};

TEST_CASE("cleaner: random transactions beside it leave what plain maps say") {
  const std::uint64_t seeds = campaign_is_thorough() ? 400 : 40;
  RunnerTally tally;
  std::uint64_t moved = 0;
  std::uint64_t compacted = 0;
  for (std::uint64_t i = 1; i <= seeds; i += kThinned) {
    const std::uint64_t seed = campaign_seed_of(i);
    CAPTURE(seed);
    SimPoolOptions made;
    made.sim.seed = seed;
    made.device_size = 12_MiB;
    SimPool pool(made);
    RunnerTally one;
    pool.system().run([&] {
      SimTarget target(pool, runtime_of_seed(seed));
      const Status opened = target.open(Access::kReadWrite);
      if (!opened.ok()) {
        one.difference = message_of(opened);
        return;
      }
      RunnerOptions options;
      options.seed = seed;
      options.ops = 1000;
      options.big_one_in = 20;
      options.reopen_one_in = 60;
      options.wait_one_in = 2;
      options.read_one_in = 2;
      one = run_store(target, options);
      target.count();
      moved += target.moved;
      compacted += target.compacted;
    });
    REQUIRE(one.difference == "");
    tally.add(one);
  }
  std::printf("name=cleaned-model runs=%d ops=%d read=%d moved=%d compacted=%d violations=0\n",
              static_cast<int>(seeds / kThinned), static_cast<int>(tally.ops),
              static_cast<int>(tally.read), static_cast<int>(moved), static_cast<int>(compacted));
  CHECK(tally.read > 10);
  CHECK(moved * kThinned > 100);
  // Rare: of 40 runs two or three do.
  if (kThinned == 1 && campaign_seed() == 0) CHECK(compacted > 0);
}

}  // namespace
}  // namespace hexad::testing
