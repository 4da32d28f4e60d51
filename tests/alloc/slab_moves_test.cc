#include "alloc/slab_moves.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "alloc/failure_domains.h"
#include "alloc/zone_plan.h"
#include "io/rng.h"

using namespace hexad;
using namespace hexad::alloc;

namespace {

// A pool as the planner sees it, and what becomes of it when its moves are done.
struct Pool {
  ZoneNeeds needs{6};
  std::vector<SlabDevice> devices;
  std::vector<SlabZone> zones;

  Pool(std::uint32_t cells, const std::vector<std::uint32_t>& slabs) : needs{cells} {
    for (std::uint32_t id = 0; id < slabs.size(); ++id) add(slabs[id]);
  }
  void add(std::uint32_t slabs, std::string domain = "") {
    SlabDevice device;
    device.domain = std::move(domain);
    device.device = static_cast<DeviceId>(devices.size());
    for (std::uint32_t slab = 0; slab < slabs; ++slab) device.free_slabs.push_back(slab);
    devices.push_back(std::move(device));
  }
  bool make_zone(std::uint64_t units) {
    std::vector<DeviceSpace> spaces;
    for (const SlabDevice& device : devices) {
      if (!device.emptied && device.takes) {
        spaces.push_back({device.device, device.free_slabs, device.domain});
      }
    }
    const auto id = static_cast<ZoneId>(zones.size() + 1);
    const auto slots = plan_zone(spaces, needs, id);
    if (!slots.ok()) return false;
    for (const ZoneSlot& slot : *slots) take(slot);
    zones.push_back({id, *slots, units});
    return true;
  }
  void fill(io::Rng& rng) {
    while (make_zone(rng.below(100))) {
    }
  }
  void take(const ZoneSlot& slot) {
    auto& free = devices[slot.device].free_slabs;
    const auto at = std::find(free.begin(), free.end(), slot.slab);
    REQUIRE(at != free.end());
    free.erase(at);
  }
  // SM1, SM5; the slabs that are left are free behind the whole plan alone.
  void apply(const SlabPlan& plan) {
    std::set<ZoneId> moved;
    std::vector<ZoneSlot> left;
    for (const SlabMove& move : plan.moves) {
      REQUIRE(moved.insert(move.zone).second);
      SlabZone& zone = *std::find_if(zones.begin(), zones.end(),
                                     [&](const SlabZone& z) { return z.zone == move.zone; });
      REQUIRE(zone.slots[move.slot] == move.from);
      REQUIRE(!devices[move.to.device].emptied);
      REQUIRE(devices[move.to.device].takes);
      for (const ZoneSlot& slot : zone.slots) REQUIRE(slot.device != move.to.device);
      take(move.to);
      zone.slots[move.slot] = move.to;
      REQUIRE(is_spread(zone));
      left.push_back(move.from);
    }
    for (const ZoneSlot& slot : left) {
      auto& free = devices[slot.device].free_slabs;
      free.insert(std::lower_bound(free.begin(), free.end(), slot.slab), slot.slab);
    }
  }
  // FD1
  bool is_spread(const SlabZone& zone) const {
    MostCells cells(needs.domain_slabs);
    for (const ZoneSlot& slot : zone.slots) cells.add(devices[slot.device].domain);
    return cells.count() == needs.slabs;
  }
  std::uint64_t used(DeviceId id) const {
    std::uint64_t slabs = 0;
    for (const SlabZone& zone : zones) {
      for (const ZoneSlot& slot : zone.slots) slabs += slot.device == id;
    }
    return slabs;
  }
  std::uint64_t zones_to_come() const {
    std::vector<FreeSlabs> free;
    for (const SlabDevice& device : devices) {
      if (device.emptied || !device.takes) continue;
      free.push_back({device.free_slabs.size(), device.domain});
    }
    return zones_left(free, needs);
  }
  // Until nothing is planned; the number of slabs that have moved.
  std::uint64_t settle(std::size_t most) {
    std::uint64_t moved = 0;
    for (;;) {
      const SlabPlan plan = plan_slab_moves(devices, zones, needs, most);
      REQUIRE(plan.moves.size() <= most);
      REQUIRE(plan.left >= plan.moves.size());
      if (plan.moves.empty()) {
        CHECK(plan.left == plan.stuck);
        return moved;
      }
      apply(plan);
      moved += plan.moves.size();
      REQUIRE(moved < 100'000);
    }
  }
};

}  // namespace

TEST_CASE("slab_moves: nothing is moved where what is free can be used") {
  Pool pool(6, {10, 10, 10, 10, 10, 10});
  CHECK(plan_slab_moves(pool.devices, pool.zones, {6}, 8).left == 0);
  for (int i = 0; i < 4; ++i) pool.make_zone(1);
  CHECK(plan_slab_moves(pool.devices, pool.zones, {6}, 8).left == 0);
  // A device that is larger is of no use to anybody, and nothing can change that.
  Pool uneven(6, {10, 10, 10, 10, 10, 30});
  io::Rng rng(1);
  uneven.fill(rng);
  CHECK(stranded_slabs(uneven.devices, {6}) == 20);
  CHECK(plan_slab_moves(uneven.devices, uneven.zones, {6}, 8).left == 0);
}

TEST_CASE("slab_moves: one device more in a full pool is used by all zones to come") {
  Pool pool(6, {12, 12, 12, 12, 12, 12});
  io::Rng rng(1);
  pool.fill(rng);
  REQUIRE(pool.zones.size() == 12);
  pool.add(12);
  CHECK(pool.zones_to_come() == 0);
  const std::uint64_t planned = plan_slab_moves(pool.devices, pool.zones, {6}, 0).left;
  const std::uint64_t moved = pool.settle(3);
  CHECK(pool.zones_to_come() == 2);  // 84 slabs make 14 zones
  CHECK(moved == planned);
  CHECK(moved <= 12);
}

TEST_CASE("slab_moves: a device is emptied, smallest zones first") {
  Pool pool(6, {10, 10, 10, 10, 10, 10, 10, 10});
  for (const std::uint64_t units : {9, 2, 7, 1, 5}) pool.make_zone(units);
  const std::uint64_t used = pool.used(3);
  REQUIRE(used > 0);
  pool.devices[3].emptied = true;
  const SlabPlan plan = plan_slab_moves(pool.devices, pool.zones, {6}, 8);
  CHECK(plan.left == used);
  CHECK(plan.stuck == 0);
  std::uint64_t last = 0;
  for (const SlabMove& move : plan.moves) {
    CHECK(move.from.device == 3);
    const std::uint64_t units = pool.zones[move.zone - 1].units;
    CHECK(units >= last);
    last = units;
  }
  pool.settle(2);
  CHECK(pool.used(3) == 0);
}

TEST_CASE("slab_moves: what finds no place is stuck, and says so") {
  Pool pool(6, {4, 4, 4, 4, 4, 4});
  io::Rng rng(1);
  pool.fill(rng);
  pool.devices[0].emptied = true;
  const SlabPlan plan = plan_slab_moves(pool.devices, pool.zones, {6}, 8);
  CHECK(plan.moves.empty());
  CHECK(plan.left == 4);
  CHECK(plan.stuck == 4);
}

TEST_CASE("slab_moves: another zone makes way") {
  Pool pool(2, {1, 2, 1, 1});
  pool.zones.push_back({1, {{0, 0}, {1, 0}}, 1});  // to be emptied; device 1 alone has room
  pool.zones.push_back({2, {{2, 0}, {3, 0}}, 1});
  for (const SlabZone& zone : pool.zones) {
    for (const ZoneSlot& slot : zone.slots) pool.take(slot);
  }
  pool.devices[0].emptied = true;
  const SlabPlan plan = plan_slab_moves(pool.devices, pool.zones, {2}, 8);
  CHECK(plan.stuck == 0);
  CHECK(plan.left == 2);
  REQUIRE(plan.moves.size() == 1);
  CHECK(plan.moves.front() == SlabMove{2, 0, {2, 0}, {1, 1}});
  pool.settle(8);
  CHECK(pool.used(0) == 0);
}

TEST_CASE("slab_moves: slabs that are not free yet count, and are not written to") {
  Pool pool(6, {12, 12, 12, 12, 12, 12});
  io::Rng rng(1);
  pool.fill(rng);
  pool.add(12);
  const SlabPlan whole = plan_slab_moves(pool.devices, pool.zones, {6}, 100);
  // As if all of it had been done, and nothing that was left were free yet.
  Pool later = pool;
  for (const SlabMove& move : whole.moves) {
    later.take(move.to);
    later.zones[move.zone - 1].slots[move.slot] = move.to;
    later.devices[move.from.device].leaving.push_back(move.from.slab);
  }
  const SlabPlan rest = plan_slab_moves(later.devices, later.zones, {6}, 100);
  CHECK(rest.left == whole.left - whole.moves.size());
  for (const SlabMove& move : rest.moves) later.take(move.to);
}

// Three shelves of two devices are full; a zone has two slabs on each.
static Pool on_three_shelves(std::uint32_t slabs) {
  Pool pool(6, {});
  pool.needs.domain_slabs = 2;
  for (const char* const domain : {"A", "A", "B", "B", "C", "C"}) pool.add(slabs, domain);
  io::Rng rng(1);
  pool.fill(rng);
  REQUIRE(pool.zones.size() == slabs);
  return pool;
}

TEST_CASE("slab_moves: a new failure domain takes slabs of each zone, as many as it may") {
  Pool pool = on_three_shelves(12);
  for (int i = 0; i < 3; ++i) pool.add(12, "D");
  REQUIRE(pool.zones_to_come() == 0);
  pool.settle(8);
  CHECK(pool.zones_to_come() > 3);
}

TEST_CASE("slab_moves: nothing is moved where domains leave free what no zone could have") {
  // Two more in a domain that has all it may have of each zone.
  Pool pool = on_three_shelves(20);
  pool.add(20, "A");
  pool.add(20, "A");
  CHECK(stranded_slabs(pool.devices, pool.needs) == 40);
  CHECK(plan_slab_moves(pool.devices, pool.zones, pool.needs, 8).left == 0);
}

TEST_CASE("slab_moves: what is emptied goes to its own domain where the others have theirs") {
  Pool pool(6, {});
  pool.needs.domain_slabs = 2;
  for (const char* const domain : {"A", "A", "B", "B", "C", "C"}) pool.add(8, domain);
  io::Rng rng(1);
  for (int i = 0; i < 6; ++i) REQUIRE(pool.make_zone(rng.below(100)));
  // Room in another domain is none.
  pool.add(8, "B");
  pool.devices[0].emptied = true;
  CHECK(plan_slab_moves(pool.devices, pool.zones, pool.needs, 8).stuck == 6);
  pool.add(8, "A");
  CHECK(plan_slab_moves(pool.devices, pool.zones, pool.needs, 8).stuck == 0);
  pool.settle(8);
  CHECK(pool.used(0) == 0);
  CHECK(pool.used(7) > 0);
}

TEST_CASE("slab_moves: any pool settles, with nothing stranded that a move could free") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    io::Rng rng(seed);
    const auto n = static_cast<std::uint32_t>(2 + rng.below(6));
    std::vector<std::uint32_t> slabs(n + rng.below(4));
    for (std::uint32_t& count : slabs) count = static_cast<std::uint32_t>(1 + rng.below(20));
    // In some, the devices are in up to n domains.
    const std::uint64_t domains = rng.chance(1, 2) ? 1 + rng.below(n) : 0;
    const auto domain = [&] {
      return domains == 0 ? std::string()
                          : std::string(1, 'A' + static_cast<char>(rng.below(domains)));
    };
    Pool pool(n, {});
    std::vector<std::string> names;
    for (const std::uint32_t count : slabs) {
      names.push_back(domain());
      pool.add(count, names.back());
    }
    pool.needs.domain_slabs = least_domain_cells(names, n);
    pool.fill(rng);
    for (std::uint64_t more = rng.below(3); more > 0; --more) {
      pool.add(static_cast<std::uint32_t>(1 + rng.below(20)), domain());
    }
    for (SlabDevice& device : pool.devices) {
      if (rng.chance(1, 6)) device.emptied = true;
      if (rng.chance(1, 10)) device.takes = false;
    }
    const std::uint64_t before = pool.zones_to_come();
    CAPTURE(seed);
    pool.settle(1 + rng.below(8));
    const bool any_emptied = std::any_of(pool.devices.begin(), pool.devices.end(),
                                         [](const SlabDevice& device) { return device.emptied; });
    if (!any_emptied) CHECK(pool.zones_to_come() >= before);
    // What is still on devices to be emptied has no place.
    const SlabPlan rest = plan_slab_moves(pool.devices, pool.zones, pool.needs, 8);
    CHECK(rest.moves.empty());
  }
}
