#include "core/membership/hanging_devices.h"

#include <catch2/catch.hpp>
#include <functional>
#include <set>

#include "alloc/failure_domains.h"

namespace hexad::core {
namespace {

constexpr io::Nanos kLimit = 100;

HangingDevice data(DeviceId id, io::Nanos owing) { return {id, owing, true, false}; }

// Where so many are lost already, each device counts for one.
std::function<std::uint32_t(const std::set<DeviceId>&)> beside(std::uint32_t lost) {
  return [lost](const std::set<DeviceId>& also) {
    return lost + static_cast<std::uint32_t>(also.size());
  };
}

TEST_CASE("hanging devices: those that have owed an answer for as long as may be") {
  CHECK(plan_leaving({}, kLimit, beside(0), 2).empty());
  CHECK(plan_leaving({data(1, 99)}, kLimit, beside(0), 2).empty());
  CHECK(plan_leaving({data(1, 100), data(2, 99)}, kLimit, beside(0), 2) == std::set<DeviceId>{1});
  CHECK(plan_leaving({data(1, 100), data(2, 300)}, kLimit, beside(0), 2) ==
        std::set<DeviceId>{1, 2});
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
        CHECK(plan_leaving(silent, kLimit, beside(lost), parities).size() == expected);
        // Neither a fast device nor one that is behind is one more that is lost.
        silent.push_back({9, kLimit, false, false});
        const std::size_t with_it = lost + hanging <= parities ? hanging + 1 : 0;
        CHECK(plan_leaving(silent, kLimit, beside(lost), parities).size() == with_it);
      }
    }
  }
}

TEST_CASE("hanging devices: who is about to leave is lost already") {
  for (const io::Nanos owing : {io::Nanos{0}, kLimit}) {
    HangingDevice leaves = data(3, owing);
    leaves.leaves = true;
    CAPTURE(owing);
    CHECK(plan_leaving({leaves, data(1, kLimit)}, kLimit, beside(0), 1).empty());
    CHECK(plan_leaving({leaves, data(1, kLimit)}, kLimit, beside(0), 2).contains(1));
    // One that is behind was lost before.
    leaves.adds_loss = false;
    CHECK(plan_leaving({leaves, data(1, kLimit)}, kLimit, beside(1), 2).contains(1));
  }
}

TEST_CASE("hanging devices: a whole failure domain may be left behind, and no more") {
  // Devices 0 to 3 are in one, and a stripe has at most two cells there.
  const auto lost_with = [](const std::set<DeviceId>& ids) {
    alloc::MostCells cells(2);
    for (const DeviceId id : ids) cells.add(id < 4 ? "A" : "B");
    return cells.count();
  };
  std::vector<HangingDevice> silent;
  for (DeviceId id = 0; id < 4; ++id) silent.push_back(data(id, kLimit));
  CHECK(plan_leaving(silent, kLimit, lost_with, 2).size() == 4);
  silent.push_back(data(4, kLimit));
  CHECK(plan_leaving(silent, kLimit, lost_with, 2).empty());
}

TEST_CASE("hanging devices: who shares a cache with others is waited for") {
  const HangingDevice shared{3, 10 * kLimit, true, true};
  CHECK(plan_leaving({shared}, kLimit, beside(0), 2).empty());
  CHECK(plan_leaving({shared, data(1, kLimit)}, kLimit, beside(0), 2) == std::set<DeviceId>{1});
}

}  // namespace
}  // namespace hexad::core
