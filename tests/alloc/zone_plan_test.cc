#include "alloc/zone_plan.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "io/rng.h"

using namespace hexad;
using namespace hexad::alloc;

namespace {

std::vector<DeviceSpace> devices_with(const std::vector<std::uint32_t>& free) {
  std::vector<DeviceSpace> devices;
  for (std::uint32_t id = 0; id < free.size(); ++id) {
    DeviceSpace device{id, {}};
    for (std::uint32_t slab = 0; slab < free[id]; ++slab) device.free_slabs.push_back(slab * 2);
    devices.push_back(std::move(device));
  }
  return devices;
}

// Plans until nothing is left; checks every zone; returns how many there were.
std::uint64_t plan_all(std::vector<DeviceSpace> devices, std::uint32_t n) {
  std::uint64_t zones = 0;
  for (;; ++zones) {
    const auto plan = plan_zone(devices, n, static_cast<ZoneId>(zones));
    if (!plan.ok()) {
      CHECK(plan.error().code == ErrorCode::kNoSpace);
      return zones;
    }
    std::set<DeviceId> distinct;
    for (const ZoneSlot& slot : *plan) {
      distinct.insert(slot.device);
      auto& free = devices[slot.device].free_slabs;
      const auto at = std::find(free.begin(), free.end(), slot.slab);
      REQUIRE(at != free.end());
      free.erase(at);
    }
    REQUIRE(distinct.size() == n);
  }
}

// The most zones any order can make: tries every choice of n devices, with memory.
std::uint64_t optimum(std::vector<std::uint32_t> free, std::uint32_t n,
                      std::map<std::vector<std::uint32_t>, std::uint64_t>& known) {
  std::sort(free.begin(), free.end());
  if (const auto at = known.find(free); at != known.end()) return at->second;
  std::uint64_t best = 0;
  for (unsigned choice = 0; choice < 1u << free.size(); ++choice) {
    if (static_cast<std::uint32_t>(__builtin_popcount(choice)) != n) continue;
    std::vector<std::uint32_t> rest = free;
    bool possible = true;
    for (std::size_t i = 0; i < rest.size() && possible; ++i) {
      if ((choice >> i & 1) == 0) continue;
      possible = rest[i] > 0;
      if (possible) --rest[i];
    }
    if (possible) best = std::max(best, 1 + optimum(rest, n, known));
  }
  known[free] = best;
  return best;
}

}  // namespace

TEST_CASE("zone_plan: no other order of zones would use more, on all small pools") {
  const std::uint32_t n = GENERATE(1, 2, 3);
  std::map<std::vector<std::uint32_t>, std::uint64_t> known;
  for (std::uint32_t code = 0; code < 4 * 4 * 4 * 4 * 4; ++code) {
    std::vector<std::uint32_t> free;
    for (std::uint32_t rest = code, i = 0; i < 5; ++i, rest /= 4) free.push_back(rest % 4);
    CAPTURE(n, free);
    const std::uint64_t best = optimum(free, n, known);
    REQUIRE(plan_all(devices_with(free), n) == best);
    REQUIRE(zones_left(devices_with(free), n) == best);
  }
}

TEST_CASE("zone_plan: pools of unequal devices are used up to what is possible") {
  io::Rng rng(3);
  for (const std::size_t count : {6u, 7u, 8u, 12u}) {
    for (int round = 0; round < 30; ++round) {
      std::vector<std::uint32_t> free;
      for (std::size_t i = 0; i < count; ++i) {
        free.push_back(static_cast<std::uint32_t>(rng.below(40)));
      }
      CAPTURE(free);
      REQUIRE(plan_all(devices_with(free), 6) == zones_left(devices_with(free), 6));
    }
  }
}

TEST_CASE("zone_plan: each device serves each slot equally often") {
  std::vector<std::vector<int>> served(6, std::vector<int>(6));
  const auto devices = devices_with({50, 50, 50, 50, 50, 50});
  for (ZoneId zone = 0; zone < 60; ++zone) {
    const auto plan = plan_zone(devices, 6, zone);
    REQUIRE(plan.ok());
    for (std::size_t slot = 0; slot < 6; ++slot) ++served[(*plan)[slot].device][slot];
  }
  for (const auto& device : served) CHECK(device == std::vector<int>(6, 10));
}

TEST_CASE("zone_plan: too few devices, no width and a device given twice are refused") {
  const auto few = plan_zone(devices_with({1, 1, 0, 1}), 4, 0);
  REQUIRE(!few.ok());
  CHECK(few.error().message.find("3 of 4") != std::string::npos);
  CHECK(plan_zone(devices_with({1}), 0, 0).error().code == ErrorCode::kInvalidArgument);
  CHECK(plan_zone(devices_with({1}), 256, 0).error().code == ErrorCode::kInvalidArgument);
  auto twice = devices_with({1, 1, 1});
  twice[2].device = 0;
  CHECK(plan_zone(twice, 2, 0).error().code == ErrorCode::kInvalidArgument);
  CHECK(zones_left(devices_with({5}), 0) == 0);
}
