// How much room there is for objects of one size: a pure function of what a store has.
//
// N objects take their units and their metadata, and make the reserve longer, which has room for
// another copy of all metadata (core/space/reserve.h). The most for which all of that fits is what
// there is room for.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

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

// How large objects are, by powers of two.
class ObjectSizes {
 public:
  struct Kind {
    std::uint64_t objects = 0;
    double bytes = 0;  // with holes they may be more than there are numbers for
  };
  // Those without bytes take metadata alone, and do not count.
  void add(std::uint64_t size);
  const std::array<Kind, 64>& kinds() const { return kinds_; }

 private:
  std::array<Kind, 64> kinds_{};
};

// Of objects of these sizes, in these proportions of bytes: what all kinds together take is the sum
// of what each does. `object_size` is the mean. Nothing: there are none. Cost: that of
// room_for_objects() for each power of two.
std::optional<ObjectRoom> room_for_mix(const ObjectSizes& sizes, const PoolRoom& pool,
                                       const StoreShape& shape);

// Of objects of 1 KiB, 2 KiB, ... 1 MiB, and a byte more than these, the kind that the empty store
// holds the fewest bytes of.
ObjectRoom least_room(const PoolRoom& pool, const StoreShape& shape);

}  // namespace hexad::core
