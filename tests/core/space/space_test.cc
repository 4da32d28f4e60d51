#include "core/space/space.h"

#include <catch2/catch.hpp>
#include <set>

#include "alloc/slab_header.h"
#include "base/aligned_buffer.h"
#include "tests/core/space_fixture.h"

namespace hexad::core {
namespace {

using namespace testing;
using hexad::testing::TableDevice;

TEST_CASE("space: a zone has a slab of each device, and every header says which") {
  SpaceFixture f;
  Space& space = f.make();
  REQUIRE(space.zones_to_come() == kSlabs);
  const ZoneCreation zone = space.prepare_zone(Zeroing::kNone).value();
  REQUIRE(zone.slots.size() == 6);
  REQUIRE(zone.units == kSlabUnits);
  for (std::uint32_t slot = 0; slot < 6; ++slot) {
    const alloc::ZoneSlot& place = zone.slots[slot];
    const TableDevice& device = *f.table.devices[place.device];
    const alloc::SlabHeader header =
        alloc::decode_slab_header(
            ByteView(device.bytes).subspan(slab_layout().slab_offset(place.slab), kUnit))
            .value();
    CHECK(header.store == f.shape.uuid);
    CHECK(header.zone == zone.zone);
    CHECK(header.slot == slot);
    CHECK(header.slots == zone.slots);
    REQUIRE(device.asked.size() == 1);
    CHECK(device.asked[0].mode == io::WriteMode::kDurable);
  }
  // Capacity to come, but nothing to allocate from yet.
  REQUIRE(space.zone_under_way());
  REQUIRE(space.zones_to_come() == kSlabs);
  REQUIRE_FALSE(space.allocate(1).ok());
  // A10: nor while the record that names it has no place in the log. Images hold it (K2).
  REQUIRE(space.add_zone(zone).ok());
  REQUIRE(space.zone_under_way());
  REQUIRE(space.zones_to_come() == kSlabs);
  REQUIRE(space.counters() == alloc::SpaceCounters());
  REQUIRE_FALSE(space.allocate(1).ok());
  REQUIRE_FALSE(space.try_reserve(1));
  REQUIRE(space.dirty_images(1).value().size() == 1);
  space.open_zone(zone.zone);
  REQUIRE_FALSE(space.zone_under_way());
  REQUIRE(space.zones_to_come() == kSlabs - 1);
  REQUIRE(space.counters().free == kSlabUnits - 1);
  REQUIRE(space.used_bytes(0) == kUnit);
}

TEST_CASE("space: the slabs of a zone that came to nothing are used by the next") {
  SpaceFixture f;
  Space& space = f.make();
  const ZoneCreation first = space.prepare_zone(Zeroing::kNone).value();
  space.release_zone(first);
  REQUIRE_FALSE(space.zone_under_way());
  const ZoneCreation second = space.prepare_zone(Zeroing::kNone).value();
  REQUIRE(second.zone != first.zone);  // headers of the first may be on devices
  std::set<std::pair<DeviceId, std::uint32_t>> slabs;
  for (const alloc::ZoneSlot& slot : first.slots) slabs.insert({slot.device, slot.slab});
  for (const alloc::ZoneSlot& slot : second.slots) {
    REQUIRE(slabs.count({slot.device, slot.slab}) == 1);
  }
}

TEST_CASE("space: zones are made until the slabs are used up, and no slab is used twice") {
  SpaceFixture f(8, 3);
  Space& space = f.make();
  std::set<std::pair<DeviceId, std::uint32_t>> slabs;
  for (int i = 0; i < 4; ++i) {  // 8 * 3 / 6
    CAPTURE(i);
    REQUIRE(space.slabs_left());
    REQUIRE(space.wants_zone());
    for (const alloc::ZoneSlot& slot : f.add_zone().slots) {
      REQUIRE(slabs.insert({slot.device, slot.slab}).second);
    }
    REQUIRE(space.wants_zone() == false);
    REQUIRE(space.allocate(kSlabUnits - 1).ok());
  }
  REQUIRE_FALSE(space.slabs_left());
  const Result<ZoneCreation> none = space.prepare_zone(Zeroing::kNone);
  REQUIRE(none.error().code == ErrorCode::kNoSpace);
  REQUIRE_FALSE(space.wants_zone());
  REQUIRE(space.zones_to_come() == 0);
}

TEST_CASE("space: slabs that come back are wanted again when the last zone found none") {
  const bool suspect = GENERATE(false, true);
  CAPTURE(suspect);
  SpaceFixture f(6, 1);
  Space& space = f.make();
  const ZoneCreation zone = space.prepare_zone(Zeroing::kNone).value();
  REQUIRE(space.prepare_zone(Zeroing::kNone).error().code == ErrorCode::kNoSpace);
  REQUIRE_FALSE(space.wants_zone());
  if (suspect) space.suspect({2});
  space.release_zone(zone);
  // V3: a header may still come over what is there next.
  REQUIRE(space.slabs_left() == !suspect);
  REQUIRE(space.wants_zone() == !suspect);
  if (suspect) f.members->mark_failed(2, "told to fail");
  space.free_kept_back();
  REQUIRE(space.slabs_left());
  REQUIRE(space.wants_zone());
  REQUIRE(space.prepare_zone(Zeroing::kNone).ok());
}

TEST_CASE("space: a zone needs k headers, with fewer its slabs are free again") {
  for (std::uint32_t bad = 0; bad < 64; ++bad) {
    CAPTURE(bad);
    SpaceFixture f;
    Space& space = f.make();
    int failing = 0;
    for (std::uint32_t i = 0; i < 6; ++i) {
      if ((bad >> i & 1) == 0) continue;
      f.table.devices[i]->fail(io::IoOp::kWrite);
      ++failing;
    }
    const Result<ZoneCreation> made = space.prepare_zone(Zeroing::kNone);
    REQUIRE(made.ok() == (failing <= 2));
    REQUIRE(space.zone_under_way() == made.ok());
    // V3: what a device did not take may still come, so its slab waits until it has left.
    REQUIRE(space.zones_to_come() == (made.ok() ? kSlabs : kSlabs - 1));
    if (made.ok()) continue;
    REQUIRE(made.error().code == ErrorCode::kIo);
    for (const DeviceId id : space.suspects()) f.members->mark_failed(id, "told to fail");
    space.free_kept_back();
    REQUIRE(space.zones_to_come() == kSlabs);
  }
}

TEST_CASE("space: lost devices give slabs only where the others are too few") {
  for (std::uint32_t lost = 0; lost < 128; ++lost) {
    CAPTURE(lost);
    SpaceFixture f(7);
    Space& space = f.make();
    std::uint32_t live = 0;
    for (DeviceId id = 0; id < 7; ++id) {
      if ((lost >> id & 1) != 0) f.members->mark_failed(id, "told to");
      live += (lost >> id & 1) == 0 ? 1 : 0;
    }
    const Result<ZoneCreation> made = space.prepare_zone(Zeroing::kNone);
    // Without k headers there is no zone.
    REQUIRE(made.ok() == (live >= 4));
    if (live < 4) REQUIRE(made.error().code == ErrorCode::kUnavailable);
    if (!made.ok()) continue;
    std::uint32_t on_live = 0;
    for (const alloc::ZoneSlot& slot : made->slots) {
      const bool usable = (lost >> slot.device & 1) == 0;
      on_live += usable ? 1 : 0;
      REQUIRE((f.table.devices[slot.device]->count(io::IoOp::kWrite) > 0) == usable);
    }
    REQUIRE(on_live == std::min(live, 6u));
  }
}

TEST_CASE("space: slabs are zeroed ahead where first writes are slow, before their headers") {
  SpaceFixture f;
  const std::set<DeviceId> slow = {1, 4};
  for (const DeviceId id : slow) f.table.devices[id]->shape.slow_first_write = true;
  for (TableDevice* device : f.table.devices)
    std::fill(device->bytes.begin(), device->bytes.end(), std::byte{0xee});
  const bool fails = GENERATE(false, true);
  CAPTURE(fails);
  if (fails) {  // only a help for later writes
    f.table.devices[1]->fails = [](const io::IoRequest& request) {
      return request.op == io::IoOp::kFlush || request.mode == io::WriteMode::kCached;
    };
  }
  Space& space = f.make();
  const ZoneCreation zone = space.prepare_zone(Zeroing::kAhead).value();
  for (const alloc::ZoneSlot& slot : zone.slots) {
    CAPTURE(slot.device);
    const TableDevice& device = *f.table.devices[slot.device];
    const ByteView slab = ByteView(device.bytes).subspan(slab_layout().slab_offset(slot.slab));
    REQUIRE(alloc::decode_slab_header(slab.first(kUnit)).ok());
    const ByteView rest = slab.subspan(kUnit, (kSlabUnits - 1) * std::uint64_t{kUnit});
    const bool zeroed = slow.count(slot.device) > 0 && !(fails && slot.device == 1);
    REQUIRE(is_zero(rest) == zeroed);
    REQUIRE(device.count(io::IoOp::kFlush) == slow.count(slot.device));
    REQUIRE(device.asked.back().mode == io::WriteMode::kDurable);
    // Nobody else's bytes.
    REQUIRE(device.bytes[slab_layout().slab_offset(slot.slab) - 1] == std::byte{0xee});
    REQUIRE(device.bytes[slab_layout().slab_offset(slot.slab + 1)] == std::byte{0xee});
  }
  REQUIRE(f.counters.since_open(CounterId::kDeviceBytesZeroed) ==
          2 * std::uint64_t{kSlabUnits} * kUnit);
  // Not asked for, not done.
  for (TableDevice* device : f.table.devices) device->asked.clear();
  REQUIRE(space.prepare_zone(Zeroing::kNone).ok());
  for (const TableDevice* device : f.table.devices) REQUIRE(device->asked.size() == 1);
}

TEST_CASE("space: cells on devices that are lost are missing, as they are after a replay") {
  for (DeviceId lost = 0; lost < 6; ++lost) {
    CAPTURE(lost);
    SpaceFixture f;
    Space& space = f.make();
    LogRecord record;
    record.zones = {space.prepare_zone(Zeroing::kNone).value()};
    REQUIRE(space.add_zone(record.zones[0]).ok());
    space.open_zone(record.zones[0].zone);
    const alloc::Extent before = space.allocate(2).value();
    const alloc::Extent after = space.allocate(3).value();
    LogRecord second;
    record.allocated = {proof_of(before)};
    second.allocated = {proof_of(after)};
    space.publish(1, record);
    f.members->mark_failed(lost, "told to");
    space.publish(2, second);
    REQUIRE(space.counters().missing == 3);

    SpaceFixture g;
    Space& replayed = g.make();
    REQUIRE(replayed.replay(1, record).ok());
    REQUIRE(replayed.replay(2, second).ok());
    REQUIRE(replayed.replay_missing(second, lost).ok());
    REQUIRE(replayed.counters() == space.counters());

    // The device is back in the other store: its bytes are used, those that were never written not.
    for (const alloc::Extent& extent : {before, after}) {
      const std::vector<CellPlace> places = replayed.locate(extent).value();
      for (const CellPlace& place : places) {
        CAPTURE(place.id, extent.unit);
        REQUIRE(place.readable == !(place.id == lost && extent == after));
      }
      for (std::uint32_t role = 0; role < places.size(); ++role) {
        REQUIRE(replayed.locate_cell(extent, role).value() == places[role]);
        REQUIRE(space.locate_cell(extent, role).value() == space.locate(extent).value()[role]);
      }
    }
    const std::vector<CellPlace> places = space.locate(before).value();
    for (const CellPlace& place : places) {
      REQUIRE(place.readable == (place.id != lost));
    }
  }
}

TEST_CASE(
    "space: R13 cells that were not durable before their record are missing, whoever is there") {
  SpaceFixture f;
  Space& space = f.make();
  LogRecord record;
  record.zones = {space.prepare_zone(Zeroing::kNone).value()};
  REQUIRE(space.add_zone(record.zones[0]).ok());
  space.open_zone(record.zones[0].zone);
  const alloc::Extent private_one = space.allocate(2).value();
  const alloc::Extent pack = space.allocate(3).value();
  record.allocated = {proof_of(private_one), proof_of(pack, 100)};
  record.allocated[0].unwritten = 1 << 4;
  record.allocated[1].unwritten = 1 << 0 | 1 << 5;
  const auto readable = [&](Space& in, const alloc::Extent& extent) {
    std::set<DeviceId> there;
    const std::vector<CellPlace> places = in.locate(extent).value();
    for (const CellPlace& place : places) {
      if (place.readable) there.insert(place.id);
    }
    return there;
  };
  const auto check = [&](Space& in) {
    const std::vector<alloc::ZoneSlot>& slots = record.zones[0].slots;
    for (std::uint32_t slot = 0; slot < 6; ++slot) {
      CAPTURE(slot);
      CHECK(readable(in, private_one).contains(slots[slot].device) == (slot != 4));
      CHECK(readable(in, pack).contains(slots[slot].device) == (slot != 0 && slot != 5));
    }
    CHECK(in.counters().missing == 2 + 2 * 3);
    CHECK(in.check_invariants().ok());
  };
  space.publish(1, record);
  check(space);

  SpaceFixture g;
  Space& replayed = g.make();
  REQUIRE(replayed.replay(1, record).ok());
  check(replayed);

  // What an image has, it has with the marks that were left: a cell that was rebuilt stays there.
  alloc::ZoneImage image = space.dirty_images(1).value().at(0);
  image.missing.clear();
  SpaceFixture h;
  Space& loaded = h.make();
  REQUIRE(loaded.load_zone(image).ok());
  REQUIRE(loaded.replay(1, record).ok());
  CHECK(loaded.counters().missing == 0);
}

TEST_CASE("space: slots that are not usable are known, while there may be so many") {
  SpaceFixture f;
  Space& space = f.make();
  const ZoneCreation zone = space.prepare_zone(Zeroing::kNone).value();
  REQUIRE(space.add_zone(zone).ok());
  space.open_zone(zone.zone);
  const alloc::Extent extent = space.allocate(1).value();
  CHECK(space.unusable_slots(extent) == 0);
  f.members->mark_failed(zone.slots[2].device, "told to");
  CHECK(space.unusable_slots(extent) == 1 << 2);
  f.members->mark_failed(zone.slots[0].device, "told to");
  CHECK(space.unusable_slots(extent) == (1 << 2 | 1 << 0));
  f.members->mark_failed(zone.slots[5].device, "told to");
  CHECK(space.unusable_slots(extent) == 0);
}

TEST_CASE("space: a stripe is found on all its devices, each cell in its own slab") {
  SpaceFixture f(8);
  Space& space = f.make();
  const ZoneCreation zone = f.add_zone();
  for (std::uint32_t unit = 1; unit < kSlabUnits; ++unit) {
    const std::vector<CellPlace> places = space.locate({zone.zone, unit, 1}).value();
    REQUIRE(places.size() == 6);
    const std::uint32_t first = stripe_rotation(unit, 6);
    for (std::uint32_t role = 0; role < 6; ++role) {
      const alloc::ZoneSlot& slot = zone.slots[(role + first) % 6];
      REQUIRE(places[role].id == slot.device);
      REQUIRE(places[role].device == f.table.devices[slot.device]);
      REQUIRE(places[role].offset ==
              slab_layout().slab_offset(slot.slab) + std::uint64_t{unit} * kUnit);
      REQUIRE(space.locate_cell({zone.zone, unit, 1}, role).value() == places[role]);
    }
  }
  for (const alloc::Extent& nowhere :
       {alloc::Extent{zone.zone, kSlabUnits - 1, 2}, alloc::Extent{zone.zone + 1, 1, 1},
        alloc::Extent{zone.zone, 0xffffffff, 0xffffffff}}) {
    const auto places = space.locate(nowhere);
    REQUIRE(places.error().code == ErrorCode::kCorruption);
    REQUIRE(places.error().message == alloc::to_string(nowhere) + ": no such place");
    REQUIRE(space.locate_cell(nowhere, 5).error().message == places.error().message);
  }
}

TEST_CASE("space: cells are written back only once that is allowed, and a failure is no error") {
  SpaceFixture f;
  Space& space = f.make();
  const ZoneCreation zone = f.add_zone();
  const CellPlace place = space.locate({zone.zone, 3, 1}).value()[0];
  TableDevice& device = *f.table.devices[place.id];
  device.asked.clear();
  AlignedBuffer cell = AlignedBuffer::zeroed(kUnit);
  std::fill(cell.bytes().begin(), cell.bytes().end(), std::byte{7});
  space.heal(place, cell.bytes());
  REQUIRE(device.asked.empty());
  space.allow_healing();
  space.heal(place, cell.bytes());
  REQUIRE(device.bytes[place.offset + kUnit - 1] == std::byte{7});
  REQUIRE(device.asked.back().mode == io::WriteMode::kDurable);
  device.fail(io::IoOp::kWrite);
  space.heal(place, cell.bytes());
  REQUIRE(f.counters.since_open(CounterId::kCellsHealed) == 1);
}

TEST_CASE("space: zones that cannot be are refused, from an image and from a record") {
  SpaceFixture f;
  Space& space = f.make();
  const ZoneCreation taken = f.add_zone();
  ZoneCreation zone = taken;
  zone.zone = 9;
  for (alloc::ZoneSlot& slot : zone.slots) slot.slab = 2;
  std::string problem;
  SECTION("a slab that the device does not have") {
    zone.slots[3].slab = kSlabs;
    problem =
        "zone 9: " + alloc::to_string(zone.slots[3]) + " does not exist or belongs to another zone";
  }
  SECTION("a slab of another zone") {
    zone.slots[3].slab = taken.slots[3].slab;
    problem =
        "zone 9: " + alloc::to_string(zone.slots[3]) + " does not exist or belongs to another zone";
  }
  SECTION("longer slabs than the devices have") {
    zone.units = kSlabUnits + 1;
    problem = "zone 9: slabs of 34 units, those of the devices have 33";
  }
  LogRecord record;
  record.zones = {zone};
  for (const Status& status : {space.replay_zones(record), space.replay(1, record)}) {
    REQUIRE_FALSE(status.ok());
    CHECK(status.error().code == ErrorCode::kCorruption);
    CHECK(message(status) == problem);
  }
  alloc::ZoneImage image;
  image.zone = zone.zone;
  image.slots = zone.slots;
  image.units = zone.units;
  image.bitmap.assign((zone.units + 63) / 64, 0);
  image.bitmap[0] = 1;
  CHECK(message(space.load_zone(image)) == problem);
  CHECK(space.zone_ids() == std::vector<alloc::ZoneId>{taken.zone});
  CHECK(space.zones_to_come() == kSlabs - 1);
}

TEST_CASE("space: the zones of a record that does not count are gone again with their slabs") {
  SpaceFixture f;
  Space& space = f.make();
  LogRecord record;
  record.zones = {space.prepare_zone(Zeroing::kNone).value()};
  SpaceFixture g;
  Space& other = g.make();
  for (int i = 0; i < 3; ++i) {
    REQUIRE(other.replay_zones(record).ok());
    REQUIRE(other.replay_zones(record).ok());  // known already
    REQUIRE(other.counters().free == kSlabUnits - 1);
    REQUIRE(other.zones_to_come() == kSlabs - 1);
    REQUIRE(other.drop_zones(record).ok());
    REQUIRE(other.drop_zones(record).ok());
    REQUIRE(other.zone_ids().empty());
    REQUIRE(other.zones_to_come() == kSlabs);
  }
}

TEST_CASE("space: images that were not written are handed out again") {
  SpaceFixture f;
  Space& space = f.make();
  const ZoneCreation zone = f.add_zone();
  REQUIRE(space.dirty_images(1).value().size() == 1);
  REQUIRE(space.dirty_images(1).value().size() == 1);  // the checkpoint failed
  LogRecord record;
  record.allocated = {proof_of(space.allocate(2).value())};
  space.publish(2, record);
  const std::vector<alloc::ZoneImage> images = space.dirty_images(2).value();
  REQUIRE(images.size() == 1);
  REQUIRE(images[0].lsn == 2);
  REQUIRE(images[0].zone == zone.zone);
  space.images_written();
  REQUIRE(space.dirty_images(2).value().empty());
  record.freed = {record.allocated[0].where};
  record.allocated.clear();
  space.publish(3, record);
  REQUIRE(space.has_deferred());
  REQUIRE(space.dirty_images(3).value().size() == 1);
}

// Found by fuzzing whole disks: a commit that gave up what was not in use ended the process when it
// was durable, and the log could not be replayed from then on.
TEST_CASE("space: what a record gives up is in use, and is given up once") {
  SpaceFixture f;
  Space& space = f.make();
  f.add_zone();
  const auto problem = [&](const std::function<void(LogRecord&)>& fill) {
    LogRecord record;
    fill(record);
    const Status status = space.check_releases(record);
    if (!status.ok()) CHECK(status.error().code == ErrorCode::kCorruption);
    return status.ok() ? "" : status.error().message;
  };
  const alloc::Extent alone = space.allocate(2).value();
  const alloc::Extent shared = space.allocate(3).value();
  LogRecord unplaced;
  unplaced.group.placed.emplace_back().from = {1, 0};
  unplaced.group.placed[0].where = {shared.zone, shared.unit, 0};
  unplaced.group.placed[0].stored = 1000;
  f.log_blobs.set_places(unplaced.group.placed);
  const auto free_alone = [&](LogRecord& record) { record.freed.push_back(alone); };
  const auto drop = [&](std::uint32_t bytes) {
    return [&, bytes](LogRecord& record) {
      record.packed_releases.push_back({shared.zone, shared.unit, bytes});
    };
  };
  // In flight: commits follow one another faster than they become durable.
  CHECK(problem([](LogRecord&) {}) == "");
  CHECK(problem(free_alone) == "");
  CHECK(problem(drop(1000)) == "");
  CHECK(problem([&](LogRecord& record) { record.unplaced_releases = {{1, 0}}; }) == "");

  LogRecord record;
  record.allocated = {proof_of(alone), proof_of(shared, 1500)};
  space.publish(1, record);
  CHECK(problem(free_alone) == "");
  CHECK(problem(drop(1500)) == "");
  CHECK_THAT(problem([&](LogRecord& r) {
               r.freed = {alone, {alone.zone, alone.unit + 1, 1}};
             }),
             Catch::Contains("given up twice"));
  CHECK_THAT(problem(drop(1501)), Catch::Contains("1501 bytes of it, of which 1500 are alive"));
  CHECK_THAT(problem([&](LogRecord& r) {
               drop(501)(r);
               r.unplaced_releases = {{1, 0}};  // a thousand more of the same stripe
             }),
             Catch::Contains("1501 bytes of it"));
  CHECK_THAT(problem([&](LogRecord& r) {
               r.unplaced_releases = {{1, 7}};
             }),
             Catch::Contains("nobody wrote it"));
  for (const alloc::Extent& nowhere :
       {alloc::Extent{alone.zone, kSlabUnits - 1, 1}, alloc::Extent{alone.zone + 1, 1, 1},
        alloc::Extent{alone.zone, 0, 1}, alloc::Extent{alone.zone, kSlabUnits, 1}}) {
    CHECK_THAT(problem([&](LogRecord& r) { r.freed = {nowhere}; }),
               Catch::Contains("and not in use"));
    CHECK_THAT(problem([&](LogRecord& r) {
                 r.packed_releases = {{nowhere.zone, nowhere.unit, 1}};
               }),
               Catch::Contains("and not in use"));
  }
  // Freed, and not reclaimed yet.
  LogRecord freeing;
  freeing.freed = {alone};
  space.publish(2, freeing);
  CHECK_THAT(problem(free_alone), Catch::Contains("and not in use"));
}

TEST_CASE("space: records that contradict the zones are damage, told with their LSN") {
  SpaceFixture f;
  Space& space = f.make();
  const ZoneCreation zone = f.add_zone();
  LogRecord record;
  record.allocated = {proof_of({zone.zone, 1, 4})};
  REQUIRE(space.replay(1, record).ok());
  REQUIRE(space.replay(2, record).error().code == ErrorCode::kCorruption);  // allocated twice
  LogRecord release;
  release.freed = {{zone.zone, 1, 5}};
  REQUIRE(space.replay(2, release).error().code == ErrorCode::kCorruption);
  release.freed = {{zone.zone + 7, 1, 1}};
  REQUIRE(space.replay(2, release).error().code == ErrorCode::kCorruption);
  release.freed.clear();
  release.packed_releases = {{zone.zone, 1, 100}};
  REQUIRE(space.replay(2, release).error().code == ErrorCode::kCorruption);
  release.packed_releases.clear();
  release.unplaced_releases = {{1, 3}};
  const Status nobody = space.replay(2, release);
  REQUIRE(nobody.error().code == ErrorCode::kCorruption);
  REQUIRE(nobody.error().message == "LSN 2 frees blob 3 of LSN 1, which nobody wrote");
}

}  // namespace
}  // namespace hexad::core
