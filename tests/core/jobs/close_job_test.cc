#include "core/jobs/close_job.h"

#include <catch2/catch.hpp>

namespace hexad::core {
namespace {

TEST_CASE("close job: closes once for each time that it is wanted") {
  int closed = 0;
  CloseJob job([&] { ++closed; });
  CHECK(job.due() == std::nullopt);
  job.want();
  job.want();
  CHECK(job.due() == io::Nanos{0});
  CHECK(job.step().value());
  CHECK(closed == 1);
  CHECK(job.due() == std::nullopt);
}

}  // namespace
}  // namespace hexad::core
