#include "core/jobs/damage_job.h"

#include <catch2/catch.hpp>

#include "io/sim/sim_system.h"

namespace hexad::core {
namespace {

TEST_CASE("damage job: goes on until all is written, and waits behind a failure") {
  io::SimSystem system;
  int left = 2;
  bool fails = false;
  DamageJob job(system.clock(), [&]() -> Result<bool> {
    if (fails) return Error{ErrorCode::kNoSpace, "full", ""};
    return left-- > 0;
  });
  CHECK(job.due() == std::nullopt);
  job.want();
  CHECK(job.due() == io::Nanos{0});
  CHECK(job.step().value());
  CHECK(job.due() == io::Nanos{0});
  CHECK(job.step().value());
  CHECK_FALSE(job.step().value());
  CHECK(job.due() == std::nullopt);
  fails = true;
  job.want();
  CHECK_FALSE(job.step().ok());
  CHECK(job.due() == DamageJob::kPause);
  system.run([&] { system.executor().sleep_for(DamageJob::kPause); });
  CHECK(job.due() == io::Nanos{0});
}

}  // namespace
}  // namespace hexad::core
