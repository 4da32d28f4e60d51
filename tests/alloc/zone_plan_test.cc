#include "alloc/zone_plan.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "alloc/failure_domains.h"
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
std::uint64_t plan_all(std::vector<DeviceSpace> devices, ZoneNeeds needs) {
  std::uint64_t zones = 0;
  for (;; ++zones) {
    const auto plan = plan_zone(devices, needs, static_cast<ZoneId>(zones));
    if (!plan.ok()) {
      CHECK(plan.error().code == ErrorCode::kNoSpace);
      return zones;
    }
    std::set<DeviceId> distinct;
    MostCells spread(needs.domain_slabs);
    for (const ZoneSlot& slot : *plan) {
      distinct.insert(slot.device);
      spread.add(devices[slot.device].domain);
      auto& free = devices[slot.device].free_slabs;
      const auto at = std::find(free.begin(), free.end(), slot.slab);
      REQUIRE(at != free.end());
      free.erase(at);
    }
    REQUIRE(distinct.size() == needs.slabs);
    REQUIRE(spread.count() == needs.slabs);
  }
}

// The most zones any order can make: tries every choice of n devices, with memory. `domains`: a
// letter for each device, or none.
std::uint64_t optimum(std::vector<std::uint32_t> free, ZoneNeeds needs, std::string_view domains,
                      std::map<std::vector<std::uint32_t>, std::uint64_t>& known) {
  if (domains.empty()) std::sort(free.begin(), free.end());
  const std::uint32_t n = needs.slabs;
  if (const auto at = known.find(free); at != known.end()) return at->second;
  std::uint64_t best = 0;
  for (unsigned choice = 0; choice < 1u << free.size(); ++choice) {
    if (static_cast<std::uint32_t>(__builtin_popcount(choice)) != n) continue;
    std::vector<std::uint32_t> rest = free;
    bool possible = true;
    MostCells spread(needs.domain_slabs);
    for (std::size_t i = 0; i < rest.size(); ++i) {
      if ((choice >> i & 1) != 0) spread.add(domains.empty() ? "" : domains.substr(i, 1));
    }
    if (spread.count() < n) continue;
    for (std::size_t i = 0; i < rest.size() && possible; ++i) {
      if ((choice >> i & 1) == 0) continue;
      possible = rest[i] > 0;
      if (possible) --rest[i];
    }
    if (possible) best = std::max(best, 1 + optimum(rest, needs, domains, known));
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
    const std::uint64_t best = optimum(free, {n}, "", known);
    REQUIRE(plan_all(devices_with(free), {n}) == best);
    REQUIRE(zones_left(devices_with(free), {n}) == best);
  }
}

TEST_CASE("zone_plan: nor with failure domains, with one or two slabs of a zone in each") {
  const std::string_view domains = GENERATE("AABBC", "AAABC", "AABCD", "AAABB");
  const ZoneNeeds needs =
      GENERATE(ZoneNeeds{2, 1}, ZoneNeeds{3, 1}, ZoneNeeds{3, 2}, ZoneNeeds{4, 2});
  std::map<std::vector<std::uint32_t>, std::uint64_t> known;
  for (std::uint32_t code = 0; code < 4 * 4 * 4 * 4 * 4; ++code) {
    std::vector<std::uint32_t> free;
    for (std::uint32_t rest = code, i = 0; i < 5; ++i, rest /= 4) free.push_back(rest % 4);
    std::vector<DeviceSpace> devices = devices_with(free);
    for (std::size_t i = 0; i < devices.size(); ++i) devices[i].domain = domains.substr(i, 1);
    CAPTURE(domains, needs.slabs, needs.domain_slabs, free);
    const std::uint64_t best = optimum(free, needs, domains, known);
    REQUIRE(zones_left(devices, needs) == best);
    REQUIRE(plan_all(devices, needs) == best);
  }
}

TEST_CASE("zone_plan: large pools in failure domains are used up, and said to be of use to that") {
  io::Rng rng(4);
  for (int round = 0; round < 200; ++round) {
    const ZoneNeeds needs{static_cast<std::uint32_t>(2 + rng.below(9)),
                          static_cast<std::uint32_t>(1 + rng.below(3))};
    std::vector<DeviceSpace> devices =
        devices_with(std::vector<std::uint32_t>(needs.slabs + rng.below(12)));
    std::vector<FreeSlabs> counts;
    for (DeviceSpace& device : devices) {
      for (std::uint64_t slabs = rng.below(30); slabs > 0; --slabs) {
        device.free_slabs.push_back(static_cast<std::uint32_t>(device.free_slabs.size()));
      }
      device.domain = std::string(1, static_cast<char>('A' + rng.below(needs.slabs)));
    }
    for (const DeviceSpace& device : devices) {
      counts.push_back({device.free_slabs.size(), device.domain});
    }
    CAPTURE(round, needs.slabs, needs.domain_slabs);
    const std::uint64_t zones = zones_left(devices, needs);
    REQUIRE(plan_all(devices, needs) == zones);
    const std::vector<std::uint64_t> of_use = slabs_of_use(counts, needs, zones);
    std::map<std::string_view, std::uint64_t> in_domain;
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      REQUIRE(of_use[i] <= std::min(counts[i].slabs, zones));
      in_domain[counts[i].domain] += of_use[i];
      all += of_use[i];
    }
    for (const auto& [domain, slabs] : in_domain) REQUIRE(slabs <= needs.domain_slabs * zones);
    REQUIRE(all >= needs.slabs * zones);
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
      REQUIRE(plan_all(devices_with(free), {6}) == zones_left(devices_with(free), {6}));
    }
  }
}

TEST_CASE("zone_plan: each device serves each slot equally often") {
  std::vector<std::vector<int>> served(6, std::vector<int>(6));
  const auto devices = devices_with({50, 50, 50, 50, 50, 50});
  for (ZoneId zone = 0; zone < 60; ++zone) {
    const auto plan = plan_zone(devices, {6}, zone);
    REQUIRE(plan.ok());
    for (std::size_t slot = 0; slot < 6; ++slot) ++served[(*plan)[slot].device][slot];
  }
  for (const auto& device : served) CHECK(device == std::vector<int>(6, 10));
}

TEST_CASE("zone_plan: too few devices, no width and a device given twice are refused") {
  const auto few = plan_zone(devices_with({1, 1, 0, 1}), {4}, 0);
  REQUIRE(!few.ok());
  CHECK(few.error().message.find("3 of 4") != std::string::npos);
  CHECK(plan_zone(devices_with({1}), {0}, 0).error().code == ErrorCode::kInvalidArgument);
  CHECK(plan_zone(devices_with({1}), {256}, 0).error().code == ErrorCode::kInvalidArgument);
  auto near = devices_with({1, 1, 1, 1});
  for (DeviceSpace& device : near) device.domain = device.device < 3 ? "A" : "B";
  const auto crowded = plan_zone(near, {4, 2}, 0);
  REQUIRE(!crowded.ok());
  CHECK(crowded.error().message ==
        "a zone needs a free slab on 4 devices; 4 of 4 have one, and by their failure domains a "
        "zone can have 3 of those (2 in each)");
  auto twice = devices_with({1, 1, 1});
  twice[2].device = 0;
  CHECK(plan_zone(twice, {2}, 0).error().code == ErrorCode::kInvalidArgument);
  CHECK(zones_left(devices_with({5}), {0}) == 0);
}
