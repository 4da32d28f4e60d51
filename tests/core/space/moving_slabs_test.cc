#include "core/space/moving_slabs.h"

#include <catch2/catch.hpp>
#include <vector>

#include "io/bounded_reads.h"

using namespace hexad;
using namespace hexad::core;

namespace {

constexpr alloc::ZoneId kZone = 1;
const alloc::ZoneSlot kFrom{2, 0};
const alloc::ZoneSlot kTo{7, 3};

SlabMoving moving() {
  SlabMoving moving;
  moving.move.zone = kZone;
  moving.move.slot = 1;
  moving.move.from = kFrom;
  moving.move.to = kTo;
  moving.closed = 9;
  return moving;
}

bool none(DeviceId) { return false; }
bool all(DeviceId) { return true; }

}  // namespace

TEST_CASE("moving slabs: a zone is opened when a root has images with the new slab (SL3)") {
  MovingSlabs moves;
  moves.begin(moving());
  CHECK(moves.closed_units() == 9);
  moves.note_images(5);
  CHECK(moves.retire_moved(0).empty());  // it was not there yet
  CHECK(moves.leaving(kFrom.device).empty());
  moves.find(kZone)->switched = true;
  CHECK(moves.leaving(kFrom.device) == std::vector<std::uint32_t>{kFrom.slab});
  CHECK(moves.retire_moved(0).empty());
  moves.note_images(6);
  CHECK(moves.retire_moved(0) == std::vector<alloc::ZoneId>{kZone});
  CHECK(moves.find(kZone) == nullptr);
  CHECK(moves.closed_units() == 0);
  CHECK(moves.retired_on(kFrom.device) == 1);
  CHECK(moves.leaving(kFrom.device) == std::vector<std::uint32_t>{kFrom.slab});
}

TEST_CASE("moving slabs: one that was left is free when nobody looks or writes there (SL4)") {
  MovingSlabs moves;
  moves.retire(kFrom, 6, 100);
  const io::Nanos late = 100 + io::kSilence;
  CHECK(moves.take_free(6, late, none).empty());      // a reader
  CHECK(moves.take_free(7, late - 1, none).empty());  // too early
  CHECK(moves.take_free(7, late, all).empty());       // a write that is not answered
  CHECK(moves.begin_cell({kFrom, 4096}));
  CHECK(moves.begin_cell({kFrom, 8192}));
  CHECK_FALSE(moves.begin_cell({kFrom, 8192}));  // SL9
  moves.end_cell({kFrom, 4096});
  CHECK(moves.is_written(kFrom));
  CHECK_FALSE(moves.is_written({kFrom.device, kFrom.slab + 1}));
  CHECK(moves.take_free(7, late, none).empty());
  moves.end_cell({kFrom, 8192});
  CHECK(moves.any_in_a_moment(late, all));
  CHECK_FALSE(moves.any_in_a_moment(late + 1, all));
  CHECK_FALSE(moves.any_in_a_moment(late, none));
  CHECK(moves.take_free(7, late, none) == std::vector<alloc::ZoneSlot>{kFrom});
  CHECK_FALSE(moves.any_retired());
}

TEST_CASE("moving slabs: a copy on a device that another one has replaced is void") {
  const alloc::ZoneSet zones(6);
  MovingSlabs moves;
  moves.begin(moving());
  moves.begin_in_place(5, zones);
  CHECK_FALSE(moves.find(kZone)->void_copy);
  moves.begin_in_place(kTo.device, zones);
  CHECK(moves.find(kZone)->void_copy);
  moves.end(kZone);
  CHECK_FALSE(moves.contains(kZone));
}
