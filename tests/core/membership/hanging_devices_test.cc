#include "core/membership/hanging_devices.h"

#include <catch2/catch.hpp>

namespace hexad::core {
namespace {

constexpr io::Nanos kLimit = 100;

HangingDevice data(DeviceId id, io::Nanos owing) { return {id, owing, true, false}; }

TEST_CASE("hanging devices: those that have owed an answer for as long as may be") {
  CHECK(plan_leaving({}, kLimit, 0, 2).empty());
  CHECK(plan_leaving({data(1, 99)}, kLimit, 0, 2).empty());
  CHECK(plan_leaving({data(1, 100), data(2, 99)}, kLimit, 0, 2) == std::set<DeviceId>{1});
  CHECK(plan_leaving({data(1, 100), data(2, 300)}, kLimit, 0, 2) == std::set<DeviceId>{1, 2});
}

// All losses, hanging devices and profiles of up to three parities.
TEST_CASE("hanging devices: never more than the profile survives, and then none of them") {
  for (std::uint32_t parities = 0; parities <= 3; ++parities) {
    for (std::uint32_t lost = 0; lost <= parities; ++lost) {
      for (std::uint32_t hanging = 0; hanging <= 4; ++hanging) {
        std::vector<HangingDevice> silent;
        for (std::uint32_t i = 0; i < hanging; ++i) silent.push_back(data(i, kLimit + i));
        const std::size_t expected = lost + hanging <= parities ? hanging : 0;
        CAPTURE(parities, lost, hanging);
        CHECK(plan_leaving(silent, kLimit, lost, parities).size() == expected);
        // Neither a fast device nor one that is behind is one more that is lost.
        silent.push_back({9, kLimit, false, false});
        const std::size_t with_it = lost + hanging <= parities ? hanging + 1 : 0;
        CHECK(plan_leaving(silent, kLimit, lost, parities).size() == with_it);
      }
    }
  }
}

TEST_CASE("hanging devices: who is about to leave is lost already") {
  for (const io::Nanos owing : {io::Nanos{0}, kLimit}) {
    HangingDevice leaves = data(3, owing);
    leaves.leaves = true;
    CAPTURE(owing);
    CHECK(plan_leaving({leaves, data(1, kLimit)}, kLimit, 0, 1).empty());
    CHECK(plan_leaving({leaves, data(1, kLimit)}, kLimit, 0, 2).contains(1));
    // One that is behind was lost before.
    leaves.adds_loss = false;
    CHECK(plan_leaving({leaves, data(1, kLimit)}, kLimit, 1, 2).contains(1));
  }
}

TEST_CASE("hanging devices: who shares a cache with others is waited for") {
  const HangingDevice shared{3, 10 * kLimit, true, true};
  CHECK(plan_leaving({shared}, kLimit, 0, 2).empty());
  CHECK(plan_leaving({shared, data(1, kLimit)}, kLimit, 0, 2) == std::set<DeviceId>{1});
}

}  // namespace
}  // namespace hexad::core
