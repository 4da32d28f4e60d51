#include "core/jobs/seal_job.h"

#include <catch2/catch.hpp>
#include <functional>

#include "io/sim/sim_executor.h"

namespace hexad::core {
namespace {

struct World {
  io::SimExecutor sim{1};
  int seals = 0;
  std::function<void()> meanwhile;
  SealJob job{sim.clock(), [this] {
                ++seals;
                if (meanwhile) meanwhile();
              }};
};

TEST_CASE("seal job: due some time after the first commit, whatever comes then") {
  World w;
  w.sim.run([&] {
    CHECK(w.job.due() == std::nullopt);
    CHECK(w.job.want());
    CHECK(w.job.due() == SealJob::kDelay);
    w.sim.sleep_for(SealJob::kDelay / 2);
    CHECK_FALSE(w.job.want());  // the first of them counts
    CHECK(*w.job.due() <= SealJob::kDelay / 2);
    w.sim.sleep_for(SealJob::kDelay);
    CHECK(w.job.due() == io::Nanos{0});
    CHECK(w.job.step().value());
    CHECK(w.seals == 1);
    CHECK(w.job.due() == std::nullopt);
    CHECK_FALSE(w.job.step().value());
    CHECK(w.seals == 1);
  });
}

TEST_CASE("seal job: a commit that comes during a seal is sealed by the next") {
  World w;
  w.sim.run([&] {
    w.meanwhile = [&] { CHECK(w.job.want()); };
    REQUIRE(w.job.want());
    REQUIRE(w.job.step().value());
    CHECK(w.job.due() == SealJob::kDelay);
  });
}

TEST_CASE("seal job: who cannot wait seals what is there, and nothing when there is nothing") {
  World w;
  w.sim.run([&] {
    CHECK_FALSE(w.job.seal_now());
    REQUIRE(w.job.want());
    CHECK(w.job.seal_now());
    CHECK(w.seals == 1);
    CHECK(w.job.due() == std::nullopt);
  });
}

}  // namespace
}  // namespace hexad::core
