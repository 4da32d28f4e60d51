// Which of a group's unplaced blobs share stripes, which get one of their own, and which ride in
// the log: a pure function of their sizes.
//
//   little to write, all together less than a stripe of one unit  -> the log
//   the rest                  -> pack stripes: blobs whole in cells, cells filled evenly
//   what would leave a stripe half empty  -> the log when it is small, else its own stripe
//   what is long next to the rest         -> its own stripe, whose cells it fills evenly
//   alone, and no more than half of that  -> a pack stripe for itself, where that is no longer: the
//                                            cleaner puts it together with others
//
// The choice weighs bytes at rest (padding), bytes in the log (m+1 copies, then packed later) and
// the number of writes; see cost in placement_plan.cc.
//
// Holds for every plan
//   PP1 every item stands in exactly one of packs, own_stripe, in_log
//   PP2 items of one cell do not overlap, begin at multiples of kPackAlignment, and end at or
//       before units * unit, in cell k-1 before the footer; a cell is not longer than kMaxCellBytes
//   PP3 in_log holds at most log_bytes
//   PP4 what has a stripe of its own fills more than half of it, or would take more units in a pack
//       stripe with a footer. A pack stripe of one item is as long as its own would be
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hexad::core {

struct PlacementItem {
  std::uint32_t stored = 0;  // bytes
  std::uint32_t footer = 0;  // what its entry in a footer takes at most, bytes
  bool has_place = false;    // units of its own are allocated: it shares no stripe
};

struct PlacementRules {
  std::uint32_t k = 4;
  std::uint32_t cells = 6;           // k+m
  std::uint32_t unit = 4096;         // bytes
  std::uint32_t max_pack_units = 1;  // of one cell, footer included; 0: no pack stripes
  std::uint32_t footer = 64;         // a footer without entries, bytes
  std::uint64_t log_bytes = 0;       // that may ride in the log
};

struct PackPlan {
  struct Slot {
    std::size_t item = 0;
    std::uint32_t cell = 0;
    std::uint32_t offset = 0;  // in the cell, bytes
  };
  std::uint32_t units = 0;  // of each cell
  std::vector<Slot> slots;  // by cell and offset
};

struct PlacementPlan {
  std::vector<PackPlan> packs;
  std::vector<std::size_t> own_stripe;
  std::vector<std::size_t> in_log;
};

// Whether the plan for items of so many bytes in all, none of which has a place, is that all of
// them ride in the log.
bool fit_log(std::uint64_t bytes, const PlacementRules& rules);

// Cost: O(n k log n), a few microseconds for ten items.
PlacementPlan plan_placement(std::span<const PlacementItem> items, const PlacementRules& rules);

}  // namespace hexad::core
