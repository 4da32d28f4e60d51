#include "core/jobs/zone_job.h"

#include <catch2/catch.hpp>
#include <functional>

namespace hexad::core {
namespace {

struct World {
  bool wanted = true;
  bool possible = true;
  Status outcome;
  std::function<void()> meanwhile;
  int made = 0;
  ZoneJob job{{[this] { return wanted; },
               [this] {
                 ++made;
                 if (meanwhile) meanwhile();
                 return outcome;
               },
               [this] { return possible; }}};
};

TEST_CASE("zone job: due when one was asked for, and news once") {
  World w;
  CHECK(w.job.due() == std::nullopt);
  CHECK(w.job.want());
  CHECK_FALSE(w.job.want());
  CHECK(w.job.due() == io::Nanos{0});
  CHECK(w.job.step().value());
  CHECK(w.made == 1);
  CHECK(w.job.due() == std::nullopt);
}

TEST_CASE("zone job: none is made when there is space again") {
  World w;
  w.wanted = false;
  REQUIRE(w.job.want());
  CHECK_FALSE(w.job.step().value());
  CHECK(w.made == 0);
}

TEST_CASE("zone job: who asks while one is made is heard") {
  World w;
  w.meanwhile = [&] { CHECK(w.job.want()); };
  REQUIRE(w.job.want());
  REQUIRE(w.job.step().ok());
  CHECK(w.job.due() == io::Nanos{0});
}

TEST_CASE("zone job: that all slabs are taken is no failure, that devices are full below is") {
  World w;
  w.outcome = Error{ErrorCode::kNoSpace, "full", ""};
  w.possible = false;
  REQUIRE(w.job.want());
  CHECK(w.job.step().ok());
  w.possible = true;
  REQUIRE(w.job.want());
  CHECK(w.job.step().error().code == ErrorCode::kNoSpace);
  CHECK(w.job.due() == std::nullopt);  // not again at once
}

}  // namespace
}  // namespace hexad::core
