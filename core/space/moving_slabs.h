// Slabs that are moving to another device, slabs that have moved and may not be used again yet, and
// slabs that cells are written into meanwhile: SL3 to SL6 of doc/invariants.md#slabs-that-move.
//
// Lock: none; Space has it under its own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "alloc/slab_moves.h"
#include "alloc/zone.h"
#include "alloc/zone_set.h"
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

struct CellInSlab {
  alloc::ZoneSlot slab;
  std::uint64_t offset = 0;  // bytes, on the device

  auto operator<=>(const CellInSlab&) const = default;
};

class MovingSlabs {
 public:
  // --- moves ---
  void begin(SlabMoving moving) { moving_[moving.move.zone] = std::move(moving); }
  // Without a root that says so.
  void end(alloc::ZoneId zone) { moving_.erase(zone); }
  bool contains(alloc::ZoneId zone) const { return moving_.contains(zone); }
  // Null: the zone does not move.
  SlabMoving* find(alloc::ZoneId zone);
  const SlabMoving* find(alloc::ZoneId zone) const;
  std::size_t size() const { return moving_.size(); }
  // Units that were free in their zones.
  std::uint64_t closed_units() const;
  // Another device is used under the number, and has nothing.
  void begin_in_place(DeviceId device, const alloc::ZoneSet& zones);
  // Images as of `lsn` have what is switched.
  void note_images(Lsn lsn);
  // SL3: a root has those images; the zones that are to be opened.
  std::vector<alloc::ZoneId> retire_moved(io::Nanos now);

  // --- slabs that zones have left (SL4) ---
  // Readers of the state `as_of`, or an older one, may look there.
  void retire(const alloc::ZoneSlot& slab, Lsn as_of, io::Nanos now) {
    retired_.push_back({slab, as_of, now});
  }
  bool any_retired() const { return !retired_.empty(); }
  std::uint32_t retired_on(DeviceId device) const;
  // Of the device, those that are retired, and those that will be.
  std::vector<std::uint32_t> leaving(DeviceId device) const;
  // Those that may be used again. Nobody reads a state before `oldest`; `is_late`: a device has not
  // answered a write.
  std::vector<alloc::ZoneSlot> take_free(Lsn oldest, io::Nanos now,
                                         const std::function<bool(DeviceId)>& is_late);
  // Of a device that `counts`, time alone is lacking for one: io::kSilence at most.
  bool any_in_a_moment(io::Nanos now, const std::function<bool(DeviceId)>& counts) const;

  // --- cells that are written again where they lie (SL5) ---
  // False: that cell is being written already.
  bool begin_cell(const CellInSlab& cell) { return cells_written_.insert(cell).second; }
  void end_cell(const CellInSlab& cell) { cells_written_.erase(cell); }
  bool is_written(const alloc::ZoneSlot& slab) const;

 private:
  struct Retired {
    alloc::ZoneSlot place;
    Lsn as_of = 0;
    io::Nanos since = 0;  // when it was left
  };

  std::map<alloc::ZoneId, SlabMoving> moving_;
  std::vector<Retired> retired_;
  std::set<CellInSlab> cells_written_;
};

}  // namespace hexad::core
