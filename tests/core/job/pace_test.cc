#include "core/job/pace.h"

#include <catch2/catch.hpp>

#include "io/clock.h"

namespace hexad::core {
namespace {

class SetClock final : public io::Clock {
 public:
  io::Nanos now() const override { return at; }
  io::Nanos wall_time() const override { return at; }
  io::Nanos at = 0;
};

TEST_CASE("Work rests for as long as it has taken, and no longer than it is told") {
  SetClock clock;
  HalfPace pace(clock);
  clock.at = 1000;
  pace.begin();
  CHECK(pace.worked() == 0);
  CHECK(pace.rest_until() == 1000);
  clock.at = 1300;
  CHECK(pace.worked() == 300);
  CHECK(pace.rest_until() == 1600);
  CHECK(pace.rest_until(100) == 1400);
  pace.begin();
  clock.at = 1310;
  CHECK(pace.rest_until(100) == 1320);
}

TEST_CASE("The waits between tries double up to the longest, and begin again after a success") {
  Backoff pause(100, 700);
  CHECK_FALSE(pause.failing());
  CHECK(pause.coming() == 100);
  CHECK(pause.next() == 100);
  CHECK(pause.failing());
  CHECK(pause.coming() == 200);
  CHECK(pause.coming() == 200);
  CHECK(pause.next() == 200);
  CHECK(pause.next() == 400);
  CHECK(pause.next() == 700);
  CHECK(pause.next() == 700);
  pause.reset();
  CHECK_FALSE(pause.failing());
  CHECK(pause.next() == 100);
}

}  // namespace
}  // namespace hexad::core
