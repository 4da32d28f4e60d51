#include "core/jobs/clean_job.h"

#include <catch2/catch.hpp>

namespace hexad::core {
namespace {

struct World {
  int left = 2;  // steps that move something
  Status outcome;
  int steps = 0;
  CleanJob job{[this]() -> Result<bool> {
    ++steps;
    HEXAD_TRY(outcome);
    return left-- > 0;
  }};
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
