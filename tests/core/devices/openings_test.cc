#include "core/devices/openings.h"

#include <catch2/catch.hpp>
#include <optional>

#include "io/sim/sim_executor.h"

namespace hexad::core {
namespace {

using Turn = Openings::Turn;

constexpr io::Nanos kSecond = 1'000'000'000;

TEST_CASE("openings: a call that lasts is named, and who has the turn keeps others waiting") {
  io::SimExecutor sim(1);
  Openings openings(sim);
  sim.run([&] {
    std::optional<Openings::Call> free;
    std::optional<Openings::Call> held;
    free.emplace(openings, "/gone/free", Turn::kFree);
    sim.sleep_for(2 * kSecond);
    held.emplace(openings, "/gone/held", Turn::kHeld);
    sim.sleep_for(3 * kSecond);
    REQUIRE(openings.lasting(6 * kSecond).empty());
    REQUIRE(openings.lasting(4 * kSecond).size() == 1);
    REQUIRE(openings.lasting(4 * kSecond).front() ==
            "/gone/free is being opened or made, for 5 s now");
    REQUIRE(openings.lasting(3 * kSecond).size() == 2);
    REQUIRE(openings.check_turn(4 * kSecond).ok());
    const Status waits = openings.check_turn(3 * kSecond);
    REQUIRE(waits.error().code == ErrorCode::kUnavailable);
    REQUIRE(waits.error().message.find("/gone/held is being opened or made, for 3 s now") == 0);
    held.reset();
    REQUIRE(openings.check_turn(0).ok());
    REQUIRE(openings.any());
    free.reset();
    REQUIRE_FALSE(openings.any());
  });
}

TEST_CASE("openings: a path is claimed by one, until that one is done with it") {
  io::SimExecutor sim(1);
  Openings openings(sim);
  {
    const Openings::Claim first(openings, "/disk");
    const Openings::Claim other(openings, "/other");
    {
      const Openings::Claim second(openings, "/disk");
      REQUIRE(second.check().error().code == ErrorCode::kBusy);
    }
    const Openings::Claim third(openings, "/disk");  // what the second had was not its own
    REQUIRE(third.check().error().code == ErrorCode::kBusy);
    REQUIRE(first.check().ok());
    REQUIRE(other.check().ok());
  }
  REQUIRE(Openings::Claim(openings, "/disk").check().ok());
}

}  // namespace
}  // namespace hexad::core
