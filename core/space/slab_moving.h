// Slabs that are moving to another device, and slabs that have moved and may not be used again yet.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "alloc/slab_moves.h"
#include "alloc/zone.h"
#include "base/ids.h"
#include "io/clock.h"

namespace hexad::core {

// One move, from Space::begin_move() to the root that says so. Its zone is closed meanwhile.
struct SlabMoving {
  alloc::SlabMove move;
  std::uint64_t closed = 0;  // units that were free there when it was closed
  bool from_lost = false;    // the old slab's device is not usable
  bool switched = false;     // the zone has the new slab, in memory
  bool void_copy = false;    // the new slab is of another device now, and has nothing of it
  // from_lost, and switched: what was noted as missing on the old slab.
  std::vector<alloc::UnitRun> missing_before = {};
  Lsn in_image = 0;  // of the checkpoint whose images say so; 0: none yet
};

// A slab that a zone has left.
struct RetiredSlab {
  alloc::ZoneSlot place;
  Lsn as_of = 0;        // readers of this state, or an older one, may look there
  io::Nanos since = 0;  // when it was left
};

// Of a zone's image: slots on devices that are filling, and lack cells by it; with the device.
using LackingSlots = std::map<std::uint32_t, DeviceId>;

// Slabs in which cells are being written again where they lie, one for each cell.
using CellsWritten = std::multiset<alloc::ZoneSlot>;

}  // namespace hexad::core
