#include "core/jobs/silence_job.h"

#include <catch2/catch.hpp>

#include "io/sim/sim_executor.h"

namespace hexad::core {
namespace {

constexpr io::Nanos kLimit = 8'000'000;

TEST_CASE("silence job: looks so often in each limit, and says what it has found") {
  io::SimExecutor sim{1};
  int looks = 0;
  bool found = false;
  SilenceJob job(sim.clock(), kLimit, [&] {
    ++looks;
    return found;
  });
  sim.run([&] {
    CHECK(job.due() == kLimit / SilenceJob::kLooks);
    CHECK_FALSE(job.step().value());
    CHECK(looks == 0);
    for (int i = 1; i <= 3; ++i) {
      sim.sleep_for(*job.due());
      CHECK(job.due() == io::Nanos{0});
      found = i == 2;
      CHECK(job.step().value() == found);
      CHECK(looks == i);
      CHECK(*job.due() > 0);
    }
  });
}

// As one that was stopped, or whose machine was.
TEST_CASE("silence job: a process that has not run for long takes no device for silent") {
  io::SimExecutor sim{1};
  int looks = 0;
  SilenceJob job(sim.clock(), kLimit, [&] {
    ++looks;
    return true;
  });
  sim.run([&] {
    sim.sleep_for(10 * kLimit);
    CHECK_FALSE(job.step().value());
    CHECK(looks == 0);
    CHECK(job.due() == kLimit / SilenceJob::kLooks);
    sim.sleep_for(*job.due());
    CHECK(job.step().value());
    CHECK(looks == 1);
  });
}

TEST_CASE("silence job: without a limit it is never due") {
  io::SimExecutor sim{1};
  SilenceJob job(sim.clock(), 0, [] { return true; });
  CHECK(job.due() == std::nullopt);
  CHECK_FALSE(job.step().value());
}

}  // namespace
}  // namespace hexad::core
