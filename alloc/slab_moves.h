// Chooses which slabs move to which devices: off devices that are to be emptied, and from full ones
// to empty ones until what is free can become zones. Pure functions.
//
//   SM1 a slab moves to a device on which its zone has none, and which takes slabs in; its zone has
//       no more slabs in the device's failure domain then than it may (FD1)
//   SM2 what is on devices that are emptied goes first. Where each device with a free slab has one
//       of the zone already, or lies where it may have no more, another zone's slab makes way: from
//       a full device, on which that zone has none, to one with room
//   SM3 beyond that a slab moves only from a device with fewer free slabs to one with at least two
//       more, and only while at least a zone's worth of free slabs is stranded: free, and in no
//       zone that plan_zone() could make. So each move makes the devices more even, and it ends.
//       Where all those moves together do not let more zones be made none of them is
//   SM4 of a device's zones the one goes that has least to be copied
//   SM5 a zone moves one slab at a time
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "alloc/zone.h"
#include "alloc/zone_plan.h"

namespace hexad::alloc {

struct SlabDevice {
  DeviceId device = 0;
  bool emptied = false;                        // is to have none; takes none in
  bool takes = true;                           // may be written to
  std::vector<std::uint32_t> free_slabs = {};  // ascending
  std::vector<std::uint32_t> leaving = {};     // no zone's any more, and not free yet
  std::string domain = {};                     // its failure domain; empty: its own
};

// A zone that may be moved.
struct SlabZone {
  ZoneId zone = 0;
  std::vector<ZoneSlot> slots;
  std::uint64_t units = 0;  // per slab, that would be copied
};

struct SlabMove {
  ZoneId zone = 0;
  std::uint32_t slot = 0;
  ZoneSlot from;
  ZoneSlot to;

  bool operator==(const SlabMove&) const = default;
};

struct SlabPlan {
  std::vector<SlabMove> moves;  // that can be done now, side by side
  std::uint64_t left = 0;       // all that are to be done, these included, as far as can be told
  std::uint64_t stuck = 0;      // of them, slabs to be emptied that no device can take
};

// Free slabs that are in none of the zones which plan_zone() could make.
std::uint64_t stranded_slabs(std::span<const SlabDevice> devices, ZoneNeeds needs);

// At most `most` moves. O(moves x (zones + devices) x slabs of a zone); where another zone has to
// make way, that for each device as well.
SlabPlan plan_slab_moves(std::vector<SlabDevice> devices, std::vector<SlabZone> zones,
                         ZoneNeeds needs, std::size_t most);

}  // namespace hexad::alloc
