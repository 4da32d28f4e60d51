#include "core/report/object_room.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "base/units.h"
#include "core/api/types.h"

namespace hexad::core {
namespace {

StoreShape shape_of(std::uint32_t max_pack_units) {
  StoreShape shape;
  shape.max_pack_units = max_pack_units;
  return shape;
}

PoolRoom pool_of(std::uint64_t units) {
  PoolRoom pool;
  pool.all_units = units;
  pool.all_zones = 10;
  pool.left_units = units;
  pool.reserve = {1_MiB, 0, 1, 10, 1024};
  return pool;
}

TEST_CASE("object room: what one object takes") {
  const StoreShape shape = shape_of(32);
  // A stripe of one unit has 16 KiB.
  CHECK(cost_of_object(200, shape).units == 0);  // inline
  const double small = cost_of_object(4096, shape).units;
  CHECK(small > 0.25);
  CHECK(small < 0.27);
  CHECK(cost_of_object(16_KiB, shape).units >= 1);
  CHECK(cost_of_object(16_KiB, shape).units < 1.1);
  CHECK(cost_of_object(300'000, shape).units == std::ceil(300'000 / 16384.0));
  CHECK(cost_of_object(1_MiB, shape).units == 64);
  CHECK(cost_of_object(1_MiB + 100, shape).units == 64);
  CHECK(cost_of_object(3_MiB, shape).units == 3 * 64);
}

TEST_CASE("object room: without pack stripes all have stripes of their own") {
  const StoreShape shape = shape_of(0);
  CHECK(cost_of_object(4096, shape).units == 1);
  CHECK(cost_of_object(17'000, shape).units == 2);
}

TEST_CASE("object room: metadata counts, and what is kept for it") {
  const StoreShape shape = shape_of(32);
  const double bytes = cost_of_object(4096, shape).record_bytes;
  CHECK(bytes > 60);
  CHECK(bytes < 300);
  CHECK(cost_of_object(4_MiB, shape).record_bytes > 4 * bytes);
  PoolRoom pool = pool_of(10'000);
  const ObjectRoom with_runs = room_for_objects(1000, pool, shape);
  pool.has_runs = false;
  const ObjectRoom without = room_for_objects(1000, pool, shape);
  CHECK(with_runs.usable < without.usable);
  CHECK(without.usable > 10'000 * 16_KiB * 9 / 10);
  CHECK(without.usable < 10'000 * 16_KiB);
}

TEST_CASE("object room: an empty pool has room for what it is usable for, before it has zones") {
  const StoreShape shape = shape_of(32);
  PoolRoom pool = pool_of(1'000'000);
  pool.all_zones = 100;
  pool.reserve.zones = 1;
  pool.reserve.zone_units = 10'000;
  for (const std::uint64_t size : {4096, 65'536, 1 << 20}) {
    CAPTURE(size);
    const ObjectRoom room = room_for_objects(size, pool, shape);
    CHECK(room.available == room.usable);
  }
}

TEST_CASE("object room: the largest objects, of which not one fits") {
  const StoreShape shape = shape_of(32);
  const ObjectRoom room = room_for_objects(kMaxObjectSize, pool_of(1'000'000), shape);
  CHECK(room.usable == 0);
  CHECK(room.available == 0);
}

TEST_CASE("object room: it grows with what is left, and with what moves would bring") {
  const StoreShape shape = shape_of(32);
  PoolRoom pool = pool_of(10'000);
  const ObjectRoom empty = room_for_objects(4096, pool, shape);
  CHECK(empty.object_size == 4096);
  CHECK(empty.usable % 4096 == 0);
  CHECK(empty.available == empty.usable);
  pool.left_units = 5'000;
  const ObjectRoom half = room_for_objects(4096, pool, shape);
  CHECK(half.usable == empty.usable);
  CHECK(half.available < empty.available);
  CHECK(half.available > empty.available / 3);
  pool.gain_units = 1'000;
  CHECK(room_for_objects(4096, pool, shape).available > half.available);
  pool.left_units = pool.gain_units = 0;
  CHECK(room_for_objects(4096, pool, shape).available == 0);
}

TEST_CASE("object room: of one size the mix holds what objects of that size do") {
  const StoreShape shape = shape_of(32);
  const PoolRoom pool = pool_of(10'000);
  CHECK_FALSE(room_for_mix(ObjectSizes{}, pool, shape).has_value());
  ObjectSizes sizes;
  sizes.add(0);
  CHECK_FALSE(room_for_mix(sizes, pool, shape).has_value());
  for (int i = 0; i < 10; ++i) sizes.add(5000);
  const ObjectRoom alone = room_for_objects(5000, pool, shape);
  const ObjectRoom mix = *room_for_mix(sizes, pool, shape);
  CHECK(mix.object_size == 5000);
  CHECK(mix.usable <= alone.usable);
  CHECK(mix.usable + 2 >= alone.usable);
  // As many bytes of large ones: between the two.
  sizes.add(50'000);
  const ObjectRoom large = room_for_objects(50'000, pool, shape);
  const ObjectRoom both = *room_for_mix(sizes, pool, shape);
  CHECK(both.usable > std::min(alone.usable, large.usable));
  CHECK(both.usable < std::max(alone.usable, large.usable));
  CHECK(both.object_size == 100'000 / 11);
}

TEST_CASE("object room: a mix with a kind that does not fit any more does not, either") {
  const StoreShape shape = shape_of(32);
  PoolRoom pool = pool_of(10'000);
  pool.left_units = 100;
  ObjectSizes sizes;
  sizes.add(4096);
  sizes.add(8_MiB);
  const ObjectRoom mix = *room_for_mix(sizes, pool, shape);
  CHECK(mix.usable > 0);
  CHECK(mix.available == 0);
  // Larger than the store: it has holes.
  ObjectSizes sparse;
  sparse.add(1ULL << 43);
  CHECK(room_for_mix(sparse, pool, shape)->usable > 0);
}

TEST_CASE("object room: the least is that of no other size") {
  for (const std::uint32_t most : {0U, 32U}) {
    const StoreShape shape = shape_of(most);
    const PoolRoom pool = pool_of(10'000);
    const ObjectRoom least = least_room(pool, shape);
    CHECK(least == room_for_objects(least.object_size, pool, shape));
    for (const std::uint64_t size : {1024, 1025, 4096, 16'385, 65'537, 1 << 20}) {
      CAPTURE(size);
      CHECK(least.usable <= room_for_objects(size, pool, shape).usable);
    }
  }
}

}  // namespace
}  // namespace hexad::core
