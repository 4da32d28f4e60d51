// Chooses the slabs of the next zone. A pure function.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "alloc/zone.h"
#include "base/error.h"

namespace hexad::alloc {

// What one device has left: the numbers of its free slabs, ascending. Only devices that may be
// used: live ones, with data role.
struct DeviceSpace {
  DeviceId device = 0;
  std::vector<std::uint32_t> free_slabs = {};
  std::string domain = {};  // its failure domain; empty: its own
};

// What a zone takes: so many slabs, each of another device, and of those of one failure domain at
// most so many (FD1 of alloc/failure_domains.h; 0: as many as it has devices).
struct ZoneNeeds {
  std::uint32_t slabs = 0;
  std::uint32_t domain_slabs = 0;
};

// One slab on each of as many distinct devices as a zone takes, the lowest free one of each. First
// those without which the next zones could be fewer by more than this one: devices that have a slab
// for each of the zones_left(), and those of a domain that has more than the zones after this one
// can take of it. Then those with the most free slabs (ties: lower id). So nothing is wasted that
// any other order could use. The slots are in order of device id, rotated by `zone`, so that over
// many zones each device serves each role equally often. O(devices x log(slabs)). Errors:
// kInvalidArgument (no slabs, more than kMaxZoneSlots, or a device given twice), kNoSpace (too few
// devices have a free slab, or they are in too few domains; the message counts).
Result<std::vector<ZoneSlot>> plan_zone(std::span<const DeviceSpace> devices, ZoneNeeds needs,
                                        ZoneId zone);

// How many free slabs a device has.
struct FreeSlabs {
  std::uint64_t slabs = 0;
  std::string_view domain = {};
};

// How many zones plan_zone() can make from these, if each takes its slabs: the largest z for which
// the sum over all domains of min(sum of min(free slabs, z), domain_slabs z) reaches slabs z. For
// capacity reports.
std::uint64_t zones_left(std::span<const DeviceSpace> devices, ZoneNeeds needs);
std::uint64_t zones_left(const std::vector<FreeSlabs>& devices, ZoneNeeds needs);
// How many of its slabs so many zones can have of each device at most, of a domain that has more
// than they take as plan_zone() does it: of its fullest devices first.
std::vector<std::uint64_t> slabs_of_use(const std::vector<FreeSlabs>& devices, ZoneNeeds needs,
                                        std::uint64_t zones);

}  // namespace hexad::alloc
