#include "core/jobs/clean_job.h"

#include <catch2/catch.hpp>

#include "io/sim/sim_system.h"

namespace hexad::core {
namespace {

struct World {
  io::SimSystem system;
  int left = 2;  // steps that move something
  Status outcome;
  int steps = 0;
  int rest_left = 1;
  int rest_steps = 0;
  CleanJob job{system.clock(), CleanJob::Work{[this]() -> Result<bool> {
                                                ++steps;
                                                HEXAD_TRY(outcome);
                                                return left-- > 0;
                                              },
                                              [this]() -> Result<bool> {
                                                ++rest_steps;
                                                return rest_left-- > 0;
                                              }}};
};

TEST_CASE("clean job: due when somebody asks, until there is nothing worth it") {
  World w;
  CHECK(w.job.due() == std::nullopt);
  CHECK(w.job.want());
  CHECK_FALSE(w.job.want());
  CHECK(w.job.due() == io::Nanos{0});
  CHECK(w.job.step().value());
  CHECK(w.job.due() == io::Nanos{0});
  CHECK(w.job.step().value());
  CHECK_FALSE(w.job.step().value());
  CHECK(w.job.due() == std::nullopt);
  CHECK(w.steps == 3);
}

TEST_CASE("clean job: a while behind the last commit, until a store at rest is done") {
  World w;
  w.system.run([&] {
    CHECK(w.job.want_rest());
    w.system.executor().sleep_for(CleanJob::kRest / 2);
    CHECK_FALSE(w.job.want_rest());  // somebody commits
    CHECK(w.job.due() == CleanJob::kRest);
    w.system.executor().sleep_for(CleanJob::kRest);
    CHECK(w.job.due() == io::Nanos{0});
    CHECK(w.job.step().value());
    CHECK(w.job.due() == io::Nanos{0});
    CHECK_FALSE(w.job.step().value());
    CHECK(w.job.due() == std::nullopt);
    CHECK(w.rest_steps == 2);
    CHECK(w.steps == 0);
  });
}

TEST_CASE("clean job: after an error it is not due before somebody asks again") {
  World w;
  w.outcome = Error{ErrorCode::kIo, "a device", ""};
  REQUIRE(w.job.want());
  CHECK_FALSE(w.job.step().ok());
  CHECK(w.job.due() == std::nullopt);
  w.outcome = {};
  CHECK(w.job.want());
  CHECK(w.job.step().value());
}

}  // namespace
}  // namespace hexad::core
