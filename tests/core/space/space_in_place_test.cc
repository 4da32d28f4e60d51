// A device that takes the place of another one, as Space sees it: RP2 to RP5 of
// doc/invariants.md#replacing-while-the-store-serves.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/core/sample_records.h"
#include "tests/core/space_fixture.h"

using namespace hexad;
using namespace hexad::core;
using namespace hexad::core::testing;
using hexad::testing::TableDevice;

namespace {

constexpr DeviceId kDevice = 2;

struct World {
  explicit World(std::uint32_t slabs = kSlabs) : f(6, slabs), space(f.make()), zone(f.add_zone()) {
    while (zone.slots[slot].device != kDevice) ++slot;
  }
  alloc::Extent put(std::uint32_t units, Lsn lsn) {
    const alloc::Extent where = space.allocate(units).value();
    publish(where, lsn);
    return where;
  }
  std::uint64_t publish(const alloc::Extent& where, Lsn lsn) {
    LogRecord record;
    record.allocated = {proof_of(where)};
    space.note_in_place(record);
    space.publish(lsn, record);
    return record.allocated[0].unwritten;
  }
  // Of the device, once it is used again: units of what lives.
  std::uint64_t lacking() { return space.lacking_units(kDevice); }
  void take_in() {
    Member member;
    const Member& now = *f.members->find(kDevice);
    member.id = kDevice;
    member.uuid.bytes.fill(9);
    member.role = now.role;
    member.layout = now.layout;
    fresh.add(alloc::DeviceRole::kData, slab_layout());
    member.device = std::move(fresh.rows.front().device);
    f.members->attach(std::move(member));
    space.begin_in_place(kDevice);
    f.members->take_in(kDevice);
    space.expect_unwritten();
  }

  hexad::testing::DeviceTable fresh;  // outlives the members
  SpaceFixture f;
  Space& space;
  ZoneCreation zone;
  std::uint32_t slot = 0;
};

}  // namespace

TEST_CASE("space_in_place: a new device lacks what lives, what dies, and what is in flight") {
  World w;
  const alloc::Extent lives = w.put(3, 1);
  const alloc::Extent dies = w.put(2, 2);
  LogRecord release;
  release.freed = {dies};
  w.space.publish(3, release);
  const alloc::Extent flies = w.space.allocate(4).value();
  w.f.members->mark_failed(kDevice, "gone");
  w.take_in();
  CHECK(w.lacking() == 3 + 4);  // what dies does not count, and what is in flight may lack
  CHECK(w.space.lacks_cells(lives));
  // Readers of older states may look there still.
  CHECK(w.space.lacks_cells(dies));
  CHECK(w.space.is_in_place(kDevice));
  w.space.finish_in_place(kDevice);
  CHECK_FALSE(w.space.is_in_place(kDevice));
  // Its cell was durable on the former one: the record says that it is not on this one.
  CHECK(w.publish(flies, 4) == std::uint64_t{1} << w.slot);
  CHECK(w.space.lacks_cells(flies));
  CHECK(w.lacking() == 3 + 4);
  // What comes now is there.
  const alloc::Extent later = w.space.allocate(1).value();
  CHECK(w.publish(later, 5) == 0);
  CHECK_FALSE(w.space.lacks_cells(later));
  CHECK(message(w.space.check_invariants()) == "");
}

TEST_CASE("space_in_place: until a root names it nothing counts on it, nor on the former one") {
  World w;
  w.f.members->mark_failed(kDevice, "gone");
  w.take_in();
  // Written to it, and durable there.
  const alloc::Extent flies = w.space.allocate(2).value();
  const alloc::Extent early = w.space.allocate(1).value();
  CHECK(w.publish(early, 1) == 0);
  CHECK(w.space.lacks_cells(early));
  w.f.members->mark_failed(kDevice, "failed");
  w.space.abandon_in_place(kDevice);
  CHECK_FALSE(w.space.is_in_place(kDevice));
  // The former one has the number again.
  CHECK(w.publish(flies, 2) == std::uint64_t{1} << w.slot);
  const alloc::Extent later = w.space.allocate(1).value();
  CHECK(w.publish(later, 3) == 0);  // it is not there to be written to, which is known otherwise
}

TEST_CASE("space_in_place: what is abandoned is not said of what comes there next") {
  World w;
  const alloc::Extent flies = w.space.allocate(kSlabUnits - 1).value();
  w.f.members->mark_failed(kDevice, "gone");
  w.take_in();
  w.space.finish_in_place(kDevice);
  w.space.discard(flies);
  const alloc::Extent next = w.space.allocate(kSlabUnits - 1).value();
  CHECK(next == flies);
  CHECK(w.publish(next, 1) == 0);
}

TEST_CASE("space_in_place: a device has fewer slabs where none behind them is used, or more") {
  World w(8);
  const std::uint32_t needed = w.space.slabs_needed(kDevice);
  CHECK(needed == w.zone.slots[w.slot].slab + 1);
  CHECK(w.space.set_slabs(kDevice, needed - 1).error().code == ErrorCode::kNoSpace);
  CHECK(w.space.slabs(kDevice).total == 8);
  CHECK(w.space.set_slabs(kDevice, needed).ok());
  CHECK(w.space.slabs(kDevice).total == needed);
  CHECK_FALSE(w.space.slabs_left());  // on five devices alone
  w.space.learn_devices();
  CHECK(w.space.slabs(kDevice).total == needed);
  CHECK(w.space.set_slabs(kDevice, 12).ok());
  CHECK(w.space.slabs(kDevice).total == 12);
  CHECK(w.space.slabs_left());
}

TEST_CASE("space in place: what is filled before a root names the device keeps its note") {
  World w;
  const alloc::Extent kept = w.put(3, 1);
  w.f.members->mark_failed(kDevice, "gone");
  w.take_in();
  CHECK(w.lacking() == 3);
  const AlignedBuffer cell = AlignedBuffer::zeroed(3 * kUnit);
  for (const CellPlace& place : w.space.locate(kept).value()) {
    if (place.id != kDevice) continue;
    CHECK(w.space.fill_missing(kept, place, cell.bytes()).error().code == ErrorCode::kUnavailable);
  }
  CHECK(w.lacking() == 3);
  w.space.finish_in_place(kDevice);
  CHECK(w.space.lacks_cells(kept));
  for (const CellPlace& place : w.space.locate(kept).value()) {
    if (place.id == kDevice) CHECK(w.space.fill_missing(kept, place, cell.bytes()).ok());
  }
  CHECK(w.lacking() == 0);
}
