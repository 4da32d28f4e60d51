// How much room there is for objects of one size: a pure function of what a store has.
//
// N objects take their units and their metadata, and make the reserve longer, which has room for
// another copy of all metadata (core/space/reserve.h). The most for which all of that fits is what
// there is room for.
#pragma once

#include <cstdint>

#include "core/api/object_room.h"
#include "core/record/shape.h"
#include "core/space/reserve.h"

namespace hexad::core {

// Units are those of stripes.
struct PoolRoom {
  std::uint64_t all_units = 0;   // when all slabs are zones
  std::uint64_t all_zones = 0;   // that there are then
  std::uint64_t left_units = 0;  // free, about to be free, or to come; without what is promised
  std::uint64_t gain_units = 0;  // that moves would bring for a commit
  bool has_runs = true;          // false: metadata takes no units, and nothing is kept for it
  ReserveInput reserve;          // as it is now
};

// What one object of that size takes.
struct ObjectCost {
  double units = 0;         // of stripes: of the shared ones its part
  double record_bytes = 0;  // of metadata, in a run
};
ObjectCost cost_of_object(std::uint64_t size, const StoreShape& shape);

// Precondition: size > 0. Cost: that of planning one pack stripe.
ObjectRoom room_for_objects(std::uint64_t size, const PoolRoom& pool, const StoreShape& shape);

}  // namespace hexad::core
