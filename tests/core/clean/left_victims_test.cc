#include "core/clean/left_victims.h"

#include <catch2/catch.hpp>

using namespace hexad;
using namespace hexad::core;

namespace {

constexpr io::Nanos kSecond = 1'000'000'000;
const alloc::Extent kStripe{1, 5, 2};
const alloc::Extent kOther{1, 9, 2};

}  // namespace

TEST_CASE("left victims: one that was of no use is left until less of it is alive") {
  LeftVictims victims;
  victims.leave(kStripe, 100, CounterId::kCleanNoGain);
  CHECK(victims.is_left(kStripe, 100));
  CHECK_FALSE(victims.is_left(kStripe, 99));
  CHECK_FALSE(victims.is_left(kOther, 100));
}

TEST_CASE("left victims: those that lack room are left for one step") {
  LeftVictims victims;
  victims.lack_room(kStripe);
  CHECK(victims.any_without_room());
  CHECK(victims.is_left(kStripe, 1));
  victims.begin_step();
  CHECK_FALSE(victims.any_without_room());
  CHECK_FALSE(victims.is_left(kStripe, 1));
}

TEST_CASE("left victims: what could not be read is tried again, and not all the time (CL8)") {
  LeftVictims victims;
  LeftVictims::Reasons reasons;
  CHECK_FALSE(victims.try_again(reasons, 0));
  const auto leave = [&] {
    victims.leave(kStripe, 1, CounterId::kCleanUnreadable);
    victims.leave(kOther, 1, CounterId::kCleanUnexplained);
  };
  leave();
  reasons.healed = 1;
  CHECK(victims.try_again(reasons, 0));
  CHECK_FALSE(victims.is_left(kStripe, 1));
  CHECK(victims.is_left(kOther, 1));

  leave();
  CHECK_FALSE(victims.try_again(reasons, 60 * kSecond));  // no more was healed
  reasons.rested = 7;
  CHECK_FALSE(victims.try_again(reasons, 9 * kSecond));
  CHECK(victims.try_again(reasons, 10 * kSecond));
  CHECK_FALSE(victims.try_again(reasons, 30 * kSecond));  // it has rested since
  reasons.commit = true;
  CHECK(victims.try_again(reasons, 30 * kSecond));
  CHECK_FALSE(victims.try_again(reasons, 31 * kSecond));
  reasons.asked = true;
  CHECK(victims.try_again(reasons, 31 * kSecond));
}
