#include "core/space.h"

#include <catch2/catch.hpp>
#include <map>

#include "alloc/slab_header.h"
#include "base/aligned_buffer.h"
#include "io/rng.h"
#include "tests/core/device_table.h"

namespace hexad::core {
namespace {

using hexad::testing::DeviceTable;
using hexad::testing::TableDevice;
using Zeroing = Space::Zeroing;

constexpr std::uint32_t kSlabUnits = 33;  // one is the header's
constexpr std::uint32_t kSlabs = 4;       // per device
constexpr std::uint32_t kUnit = 4096;

alloc::DeviceLayout slab_layout(std::uint32_t slabs = kSlabs) {
  alloc::DeviceLayout layout;
  layout.physical_block = layout.unit = kUnit;
  layout.first_slab = 64 << 10;
  layout.slab_units = kSlabUnits;
  layout.slab_count = slabs;
  layout.device_size = layout.end();
  return layout;
}

// 4+2 over so many data devices, no zone yet.
struct Fixture {
  explicit Fixture(std::size_t count = 6, std::uint32_t slabs = kSlabs) {
    shape.uuid.bytes.fill(5);
    for (std::size_t i = 0; i < count; ++i) table.add(alloc::DeviceRole::kData, slab_layout(slabs));
  }
  Space& make() {
    if (members == nullptr) members = std::make_unique<Members>(*executor, std::move(table.rows));
    space = std::make_unique<Space>(*executor, shape, *members, counters, log_blobs);
    return *space;
  }
  // One more zone that can be allocated from.
  ZoneCreation add_zone() {
    ZoneCreation zone = space->prepare_zone(Zeroing::kNone).value();
    REQUIRE(space->add_zone(zone).ok());
    return zone;
  }

  std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  StoreShape shape;
  DeviceTable table;
  Counters counters;
  LogBlobs log_blobs{*executor, shape.record};
  std::unique_ptr<Members> members;
  std::unique_ptr<Space> space;
};

StripeProof proof_of(const alloc::Extent& where, std::uint64_t live = 0) {
  StripeProof proof;
  proof.where = where;
  proof.live = live;
  return proof;
}

std::string message(const Status& status) { return status.ok() ? "" : status.error().message; }

TEST_CASE("space: a zone has a slab of each device, and every header says which") {
  Fixture f;
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
  REQUIRE(space.add_zone(zone).ok());
  REQUIRE_FALSE(space.zone_under_way());
  REQUIRE(space.zones_to_come() == kSlabs - 1);
  REQUIRE(space.counters().free == kSlabUnits - 1);
  REQUIRE(space.used_bytes(0) == kUnit);
}

TEST_CASE("space: the slabs of a zone that came to nothing are used by the next") {
  Fixture f;
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
  Fixture f(8, 3);
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

TEST_CASE("space: a zone needs k headers, with fewer its slabs are free again") {
  for (std::uint32_t bad = 0; bad < 64; ++bad) {
    CAPTURE(bad);
    Fixture f;
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
    REQUIRE(space.zones_to_come() == kSlabs);
    if (!made.ok()) REQUIRE(made.error().code == ErrorCode::kIo);
  }
}

TEST_CASE("space: lost devices give slabs only where the others are too few") {
  for (std::uint32_t lost = 0; lost < 128; ++lost) {
    CAPTURE(lost);
    Fixture f(7);
    Space& space = f.make();
    std::uint32_t live = 0;
    for (DeviceId id = 0; id < 7; ++id) {
      if ((lost >> id & 1) != 0) f.members->lose(id, "told to");
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
  Fixture f;
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

TEST_CASE("space: allocating leaves what is reserved, and says so") {
  Fixture f;
  Space& space = f.make();
  f.add_zone();  // 32 units
  REQUIRE(space.try_reserve(1));
  REQUIRE(space.try_reserve(1));
  REQUIRE(space.reserved() == 2);
  const Result<alloc::Extent> all = space.allocate(32);
  REQUIRE(all.error().code == ErrorCode::kNoSpace);
  CHECK(all.error().message == "no 32 units: 32 are free, 2 of them for what is being written");
  const Result<alloc::Extent> most = space.allocate(30);
  CHECK(most.error().message == "no 30 units besides the 2 that belong to what is being written");
  REQUIRE(space.counters().free == 32);  // nothing is left taken
  REQUIRE(space.allocate(28).ok());
  REQUIRE_FALSE(space.allocate(1).ok());
  for (int i = 0; i < 2; ++i) {
    REQUIRE(space.allocate_reserved(1).ok());
    space.give_back(1);
  }
  REQUIRE(space.reserved() == 0);
  for (int i = 0; i < 2; ++i) REQUIRE(space.allocate(1).ok());
  REQUIRE(space.counters().free == 0);
  REQUIRE_FALSE(space.try_reserve(1));
}

TEST_CASE("space: whatever is allocated and freed meanwhile, what is reserved can be had") {
  const std::uint64_t seed = GENERATE(range(1, 25));
  CAPTURE(seed);
  io::Rng rng(seed);
  Fixture f;
  Space& space = f.make();
  f.add_zone();
  f.add_zone();
  std::vector<std::uint32_t> promised;
  std::vector<alloc::Extent> held;
  int redeemed = 0;
  for (int step = 0; step < 600; ++step) {
    CAPTURE(step);
    switch (rng.below(4)) {
      case 0: {
        const auto units = static_cast<std::uint32_t>(1 + rng.below(3));
        if (space.try_reserve(units)) promised.push_back(units);
        break;
      }
      case 1: {
        const Result<alloc::Extent> extent =
            space.allocate(static_cast<std::uint32_t>(1 + rng.below(6)));
        if (extent.ok()) held.push_back(*extent);
        break;
      }
      case 2: {
        if (promised.empty()) break;
        const std::size_t which = rng.below(promised.size());
        const std::uint32_t units = promised[which];
        promised.erase(promised.begin() + static_cast<std::ptrdiff_t>(which));
        const Result<alloc::Extent> extent = space.allocate_reserved(units);
        REQUIRE(extent.ok());
        space.give_back(units);
        held.push_back(*extent);
        ++redeemed;
        break;
      }
      default: {
        if (held.empty()) break;
        const std::size_t which = rng.below(held.size());
        space.abandon(held[which]);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
        break;
      }
    }
    REQUIRE(space.check_invariants().ok());
  }
  REQUIRE(redeemed > 20);
}

TEST_CASE("space: cells on devices that are lost are missing, as they are after a replay") {
  for (DeviceId lost = 0; lost < 6; ++lost) {
    CAPTURE(lost);
    Fixture f;
    Space& space = f.make();
    LogRecord record;
    record.zones = {space.prepare_zone(Zeroing::kNone).value()};
    REQUIRE(space.add_zone(record.zones[0]).ok());
    const alloc::Extent before = space.allocate(2).value();
    const alloc::Extent after = space.allocate(3).value();
    LogRecord second;
    record.allocated = {proof_of(before)};
    second.allocated = {proof_of(after)};
    space.publish(1, record);
    f.members->lose(lost, "told to");
    space.publish(2, second);
    REQUIRE(space.counters().missing == 3);

    Fixture g;
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
    }
    const std::vector<CellPlace> places = space.locate(before).value();
    for (const CellPlace& place : places) {
      REQUIRE(place.readable == (place.id != lost));
    }
  }
}

TEST_CASE("space: a stripe is found on all its devices, each cell in its own slab") {
  Fixture f(8);
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
    }
  }
  for (const alloc::Extent& nowhere :
       {alloc::Extent{zone.zone, kSlabUnits - 1, 2}, alloc::Extent{zone.zone + 1, 1, 1},
        alloc::Extent{zone.zone, 0xffffffff, 0xffffffff}}) {
    const auto places = space.locate(nowhere);
    REQUIRE(places.error().code == ErrorCode::kCorruption);
    REQUIRE(places.error().message == alloc::to_string(nowhere) + ": no such place");
  }
}

TEST_CASE("space: cells are written back only once that is allowed, and a failure is no error") {
  Fixture f;
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
  Fixture f;
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
  Fixture f;
  Space& space = f.make();
  LogRecord record;
  record.zones = {space.prepare_zone(Zeroing::kNone).value()};
  Fixture g;
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
  Fixture f;
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

TEST_CASE("space: records that contradict the zones are damage, told with their LSN") {
  Fixture f;
  Space& space = f.make();
  const ZoneCreation zone = f.add_zone();
  LogRecord record;
  record.allocated = {proof_of({zone.zone, 1, 4})};
  REQUIRE(space.replay(1, record).ok());
  REQUIRE(space.replay(2, record).error().code == ErrorCode::kCorruption);  // allocated twice
  LogRecord death;
  death.freed = {{zone.zone, 1, 5}};
  REQUIRE(space.replay(2, death).error().code == ErrorCode::kCorruption);
  death.freed = {{zone.zone + 7, 1, 1}};
  REQUIRE(space.replay(2, death).error().code == ErrorCode::kCorruption);
  death.freed.clear();
  death.packed_deaths = {{zone.zone, 1, 100}};
  REQUIRE(space.replay(2, death).error().code == ErrorCode::kCorruption);
  death.packed_deaths.clear();
  death.young_deaths = {{1, 3}};
  const Status nobody = space.replay(2, death);
  REQUIRE(nobody.error().code == ErrorCode::kCorruption);
  REQUIRE(nobody.error().message == "LSN 2 frees blob 3 of LSN 1, which nobody wrote");
}

// What of a zone does not depend on how it came about.
struct Picture {
  std::vector<alloc::UnitRun> live;
  std::vector<alloc::PackStripe> packs;
  bool operator==(const Picture&) const = default;
};
std::map<alloc::ZoneId, Picture> picture(Space& space) {
  std::map<alloc::ZoneId, Picture> zones;
  for (const alloc::ZoneId zone : space.zone_ids()) {
    zones[zone] = {space.live_runs(zone), space.packs(zone)};
  }
  return zones;
}

TEST_CASE("space: any checkpoint and the records behind it give the space that was published") {
  const std::uint64_t seed = GENERATE(range(1, 13));
  CAPTURE(seed);
  io::Rng rng(seed);
  Fixture f;
  Space& space = f.make();
  std::vector<LogRecord> records = {{}};  // by LSN
  std::map<Lsn, std::map<alloc::ZoneId, alloc::ZoneImage>> checkpoints = {{0, {}}};
  std::vector<alloc::Extent> own;                                          // live, private
  std::map<std::pair<alloc::ZoneId, std::uint32_t>, std::uint64_t> packs;  // live bytes
  Lsn reclaimed = 0;
  for (Lsn lsn = 1; lsn <= 150; ++lsn) {
    LogRecord record;
    if (lsn == 1 || (lsn % 20 == 0 && space.slabs_left())) {
      record.zones = {space.prepare_zone(Zeroing::kNone).value()};
      REQUIRE(space.add_zone(record.zones[0]).ok());
    }
    for (std::uint64_t i = rng.below(3); i > 0; --i) {
      const Result<alloc::Extent> extent =
          space.allocate(static_cast<std::uint32_t>(1 + rng.below(5)));
      if (!extent.ok()) continue;
      const std::uint64_t live = rng.below(2) == 0 ? 0 : 1 + rng.below(1000);
      record.allocated.push_back(proof_of(*extent, live));
    }
    while (!own.empty() && rng.below(3) == 0) {
      const std::size_t which = rng.below(own.size());
      record.freed.push_back(own[which]);
      own.erase(own.begin() + static_cast<std::ptrdiff_t>(which));
    }
    for (auto pack = packs.begin(); pack != packs.end();) {
      if (rng.below(4) != 0) {
        ++pack;
        continue;
      }
      const std::uint64_t bytes = 1 + rng.below(pack->second);
      record.packed_deaths.push_back(
          {pack->first.first, pack->first.second, static_cast<std::uint32_t>(bytes)});
      pack->second -= bytes;
      pack = pack->second == 0 ? packs.erase(pack) : std::next(pack);
    }
    space.publish(lsn, record);
    for (const StripeProof& stripe : record.allocated) {
      if (stripe.live > 0) {
        packs[{stripe.where.zone, stripe.where.unit}] = stripe.live;
      } else {
        own.push_back(stripe.where);
      }
    }
    records.push_back(record);
    if (rng.below(4) == 0) {
      reclaimed = lsn - rng.below(std::min<Lsn>(lsn, 5));
      space.reclaim(reclaimed);
    }
    if (rng.below(12) == 0) {
      checkpoints[lsn] = std::prev(checkpoints.end())->second;
      const std::vector<alloc::ZoneImage> images = space.dirty_images(lsn).value();
      for (const alloc::ZoneImage& image : images) checkpoints[lsn][image.zone] = image;
      space.images_written();
    }
    REQUIRE(space.check_invariants().ok());
  }
  const Lsn last = records.size() - 1;
  space.reclaim(last);
  REQUIRE(checkpoints.size() > 4);
  for (const auto& [from, images] : checkpoints) {
    CAPTURE(from);
    Fixture g;
    Space& again = g.make();
    for (const auto& [zone, image] : images) REQUIRE(message(again.load_zone(image)) == "");
    for (Lsn lsn = from + 1; lsn <= last; ++lsn) {
      CAPTURE(lsn);
      REQUIRE(message(again.replay(lsn, records[lsn])) == "");
    }
    again.reclaim(last);
    REQUIRE(again.check_invariants().ok());
    REQUIRE(picture(again) == picture(space));
    REQUIRE(again.counters() == space.counters());
    REQUIRE(again.zones_to_come() == space.zones_to_come());
    for (DeviceId id = 0; id < 6; ++id) REQUIRE(again.used_bytes(id) == space.used_bytes(id));
  }
}

// --- what the store keeps for itself ---

TEST_CASE("space: users leave the reserve alone, checkpoints and packing do not") {
  Fixture f;
  Space& space = f.make();
  f.add_zone();  // 32 units
  space.set_reserve(10);
  REQUIRE(space.reserve_units() == 10);
  REQUIRE(space.reserve_whole());
  CHECK(space.allocate(23).error().message ==
        "no 23 units: 32 are free, 0 of them for what is being written, 10 for checkpoints");
  REQUIRE(space.try_reserve(1));
  REQUIRE_FALSE(space.allocate(22).ok());
  REQUIRE(space.allocate(21).ok());
  REQUIRE_FALSE(space.try_reserve(1));
  // 11 are free, one is promised.
  const alloc::Extent run = space.allocate_internal(8).value();
  REQUIRE_FALSE(space.reserve_whole());
  REQUIRE_FALSE(space.allocate_internal(3).ok());
  REQUIRE(space.allocate_reserved(1).ok());
  space.give_back(1);
  REQUIRE(space.allocate_internal(2).ok());
  const Result<alloc::Extent> none = space.allocate_internal(1);
  REQUIRE(none.error().code == ErrorCode::kNoSpace);
  space.publish_internal({&run, 1}, 1);
  REQUIRE(space.free_internal({&run, 1}, 2).ok());
  space.set_reserve(8);
  REQUIRE(space.reserve_whole());  // it comes back soon
  space.reclaim(2);
  REQUIRE(space.allocate_internal(8).ok());
  REQUIRE(space.check_invariants().ok());
}

TEST_CASE("space: the reserve is not counted as room for users when zones are made ahead") {
  Fixture f;
  Space& space = f.make();
  f.add_zone();
  REQUIRE_FALSE(space.wants_zone());
  space.set_reserve(20);
  REQUIRE(space.wants_zone());
  f.add_zone();
  REQUIRE_FALSE(space.wants_zone());
}

TEST_CASE("space: the longest run of the reserve is for the manifest alone") {
  Fixture f;
  Space& space = f.make();
  f.add_zone();
  const alloc::Extent hole = space.allocate(3).value();
  REQUIRE(space.allocate(1).ok());
  space.set_reserve(12, 10);
  REQUIRE(space.allocate(16).ok());
  space.abandon(hole);  // free: 3 units, and 12 in one piece
  REQUIRE(space.largest_free_run() == 12);
  // Of the 12 in one piece two can be had.
  REQUIRE(space.allocate(3).value() == hole);
  space.abandon(hole);
  REQUIRE_FALSE(space.allocate_internal(4).ok());
  REQUIRE(space.allocate_internal(3).value() == hole);
  REQUIRE(space.allocate_internal(2).ok());
  REQUIRE(space.largest_free_run() == 10);
  REQUIRE_FALSE(space.allocate_internal(1).ok());
  REQUIRE(space.allocate_internal(10, Space::Internal::kManifest).ok());
  REQUIRE(space.counters().free == 0);
  REQUIRE(space.check_invariants().ok());
}

TEST_CASE("space: what checkpoints write is live when published, and missing on lost devices") {
  Fixture f;
  Space& space = f.make();
  const ZoneCreation zone = f.add_zone();
  std::vector<alloc::Extent> run = {space.allocate_internal(2).value(),
                                    space.allocate_internal(3).value()};
  f.members->lose(4, "told to");
  space.publish_internal(run, 7);
  REQUIRE(space.counters().live == 5);
  REQUIRE(space.counters().missing == 5);
  for (const alloc::Extent& extent : run) {
    const std::vector<CellPlace> places = space.locate(extent).value();
    for (const CellPlace& place : places) {
      REQUIRE(place.readable == (place.id != 4));
    }
  }
  // All or nothing.
  std::vector<alloc::Extent> wrong = run;
  wrong.push_back(run[0]);
  REQUIRE(space.free_internal(wrong, 8).error().code == ErrorCode::kCorruption);
  wrong.back() = {zone.zone, run[1].unit + 3, 1};
  REQUIRE(message(space.free_internal(wrong, 8)) ==
          alloc::to_string(wrong.back()) + ": given up by the checkpoint at LSN 8, but not live");
  wrong.back() = {zone.zone + 1, 1, 1};
  REQUIRE_FALSE(space.free_internal(wrong, 8).ok());
  REQUIRE(space.counters().live == 5);
  REQUIRE(space.free_internal(run, 8).ok());
  REQUIRE(space.counters().deferred == 5);
  REQUIRE(space.reclaim(7) == 0);
  REQUIRE(space.reclaim(8) == 5);
  REQUIRE(space.counters().missing == 0);
}

TEST_CASE("space: a zone where something is replaced gets an image with that deferred") {
  Fixture f;
  Space& space = f.make();
  const ZoneCreation zone = f.add_zone();
  const std::vector<alloc::Extent> run = {space.allocate_internal(4).value()};
  space.publish_internal(run, 3);
  REQUIRE(space.dirty_images(3).value().size() == 1);
  space.images_written();
  REQUIRE(space.dirty_images(5).value().empty());
  for (int i = 0; i < 2; ++i) {  // the first checkpoint failed
    const std::vector<alloc::ZoneImage> images = space.dirty_images(5, run).value();
    REQUIRE(images.size() == 1);
    REQUIRE(images[0].deferred == std::vector<alloc::DeferredFree>{{run[0].run(), 5}});
  }
  REQUIRE(space.is_live(run[0]));
  space.images_written();
  REQUIRE(space.free_internal(run, 5).ok());
  REQUIRE(space.dirty_images(6, run).error().code == ErrorCode::kCorruption);
  const std::vector<alloc::Extent> nowhere = {{zone.zone + 3, 1, 1}};
  REQUIRE(space.dirty_images(6, nowhere).error().code == ErrorCode::kCorruption);
}

TEST_CASE("space: a zone that the manifest names is there before its image, and stays") {
  Fixture f;
  Space& space = f.make();
  const ZoneCreation zone = f.add_zone();
  LogRecord record;
  record.zones = {zone};
  record.allocated = {proof_of(space.allocate(2).value())};
  space.publish(1, record);
  const std::vector<alloc::ZoneImage> images = space.dirty_images(1).value();
  const alloc::Extent where = {zone.zone, 5, 3};

  Space& known = f.make();
  REQUIRE(known.know_zone(zone.zone, zone.slots, zone.units).ok());
  REQUIRE(known.know_zone(zone.zone, zone.slots, zone.units).ok());
  REQUIRE(known.locate(where).value().size() == 6);
  REQUIRE(known.slots(zone.zone) == zone.slots);
  REQUIRE(known.zones_to_come() == kSlabs - 1);
  // A record that does not count made it: the manifest says that it is there.
  REQUIRE(known.replay_zones(record).ok());
  REQUIRE(known.drop_zones(record).ok());
  REQUIRE(known.zone_ids() == std::vector<alloc::ZoneId>{zone.zone});
  REQUIRE(known.load_zone(images[0]).ok());
  REQUIRE(known.counters().live == 2);
  REQUIRE(known.zones_to_come() == kSlabs - 1);
  REQUIRE(known.mark_used(where).ok());
  REQUIRE(known.mark_used(where).ok());
  REQUIRE(known.counters().live == 5);
  REQUIRE(known.mark_used({zone.zone, 5, 0xfffffff}).error().code == ErrorCode::kCorruption);
  REQUIRE(known.prepare_zone(Zeroing::kNone).value().zone > zone.zone);
  REQUIRE(known.check_invariants().ok());

  // Two opinions about one zone.
  Space& other = f.make();
  std::vector<alloc::ZoneSlot> slots = zone.slots;
  slots[0].slab = 3;
  REQUIRE(other.know_zone(zone.zone, slots, zone.units).ok());
  REQUIRE(other.know_zone(zone.zone, zone.slots, zone.units).error().code ==
          ErrorCode::kCorruption);
  REQUIRE(message(other.load_zone(images[0])) ==
          "zone 1: its image and the manifest name different slabs");
  REQUIRE(other.know_zone(9, slots, zone.units).error().code == ErrorCode::kCorruption);
  slots[0].slab = kSlabs;
  REQUIRE(other.know_zone(9, slots, zone.units).error().code == ErrorCode::kCorruption);
}

TEST_CASE("space: units that the manifest names miss no cells of an owner before") {
  Fixture f(7);
  f.make();
  const ZoneCreation zone = f.add_zone();
  alloc::ZoneImage image;
  image.zone = zone.zone;
  image.slots = zone.slots;
  image.units = zone.units;
  image.lsn = 4;
  image.bitmap.assign((zone.units + 63) / 64, ~std::uint64_t{0} << (zone.units % 64));
  image.bitmap[0] |= 0x1f;  // units 1 to 4
  image.deferred = {{{3, 2}, 4}};
  image.missing = {{2, {1, 4}}};
  Space& again = f.make();
  REQUIRE(again.know_zone(zone.zone, zone.slots, zone.units).ok());
  REQUIRE(message(again.load_zone(image)) == "");
  REQUIRE(again.mark_used({zone.zone, 3, 2}).ok());  // was deferred
  REQUIRE(again.mark_used({zone.zone, 1, 1}).ok());  // was live, and is the same
  REQUIRE(again.counters().missing == 2);
  f.members->lose(zone.slots[5].device, "told to");
  REQUIRE(again.mark_used({zone.zone, 3, 2}).ok());
  REQUIRE(again.counters().missing == 4);
  LogRecord record;
  record.allocated = {proof_of({zone.zone, 8, 2}, 100)};
  REQUIRE(again.replay(5, record).ok());
  REQUIRE(again.mark_used({zone.zone, 9, 1}).error().code == ErrorCode::kCorruption);
  REQUIRE(again.check_invariants().ok());
}

// A store that makes checkpoints and crashes, as far as space sees it. All records are durable.
struct Checkpointed {
  struct Root {
    Lsn lsn = 0;
    std::map<alloc::ZoneId, alloc::ZoneImage> images;
    std::vector<alloc::Extent> named;  // runs and manifest
    std::map<alloc::ZoneId, ZoneCreation> zones;
  };

  explicit Checkpointed(std::uint64_t seed) : rng(seed) { space = &f.make(); }

  void commit() {
    LogRecord record;
    if (zones.empty() || (rng.below(25) == 0 && space->slabs_left())) {
      record.zones = {space->prepare_zone(Zeroing::kNone).value()};
      REQUIRE(space->add_zone(record.zones[0]).ok());
      zones[record.zones[0].zone] = record.zones[0];
    }
    for (std::uint64_t i = rng.below(3); i > 0; --i) {
      const Result<alloc::Extent> extent =
          space->allocate(static_cast<std::uint32_t>(1 + rng.below(5)));
      if (!extent.ok()) continue;
      record.allocated.push_back(proof_of(*extent));
    }
    while (!own.empty() && rng.below(3) != 0) {
      const std::size_t which = rng.below(own.size());
      record.freed.push_back(own[which]);
      own.erase(own.begin() + static_cast<std::ptrdiff_t>(which));
    }
    records.push_back(record);
    space->publish(records.size() - 1, record);
    for (const StripeProof& stripe : record.allocated) own.push_back(stripe.where);
    if (rng.below(3) == 0) space->reclaim(records.size() - 1);
  }

  // Other records come in between. Stops after `steps` steps, as a crash would.
  void checkpoint(std::uint64_t steps) {
    Root next = root;
    next.lsn = records.size() - 1;
    std::vector<alloc::Extent> replaced;
    for (auto at = next.named.begin(); at != next.named.end();) {
      if (rng.below(2) == 0) {
        ++at;
        continue;
      }
      replaced.push_back(*at);
      at = next.named.erase(at);
    }
    const std::vector<alloc::ZoneImage> images = space->dirty_images(next.lsn, replaced).value();
    for (const alloc::ZoneImage& image : images) {
      next.images[image.zone] = image;
    }
    if (steps == 0) return;
    std::vector<alloc::Extent> written;
    for (std::uint64_t i = 1 + rng.below(3); i > 0; --i) {
      commit();
      const Result<alloc::Extent> extent =
          space->allocate_internal(static_cast<std::uint32_t>(1 + rng.below(4)));
      if (extent.ok()) written.push_back(*extent);
    }
    if (steps == 1) return;
    space->publish_internal(written, next.lsn);
    if (rng.below(2) == 0) commit();
    if (steps == 2) return;
    next.named.insert(next.named.end(), written.begin(), written.end());
    next.zones = zones;
    root = next;
    if (steps == 3) return;
    space->images_written();
    REQUIRE(message(space->free_internal(replaced, root.lsn)) == "");
    require_sound();
  }

  void reopen() {
    space = &f.make();
    for (const alloc::Extent& extent : root.named) {
      const ZoneCreation& zone = root.zones.at(extent.zone);
      REQUIRE(message(space->know_zone(zone.zone, zone.slots, zone.units)) == "");
    }
    for (const auto& [zone, image] : root.images) REQUIRE(message(space->load_zone(image)) == "");
    for (Lsn lsn = root.lsn + 1; lsn < records.size(); ++lsn) {
      CAPTURE(lsn, root.lsn);
      REQUIRE(message(space->replay(lsn, records[lsn])) == "");
    }
    for (const alloc::Extent& extent : root.named) {
      REQUIRE(message(space->mark_used(extent)) == "");
    }
    require_sound();
  }

  // What users have and what the root names is live, and nothing else.
  void require_sound() {
    REQUIRE(message(space->check_invariants()) == "");
    std::map<alloc::ZoneId, std::set<std::uint32_t>> expected;
    for (const auto* extents : {&own, &root.named}) {
      for (const alloc::Extent& extent : *extents) {
        for (std::uint32_t unit = extent.unit; unit < extent.end(); ++unit) {
          REQUIRE(expected[extent.zone].insert(unit).second);
        }
      }
    }
    for (const auto& [id, zone] : zones) {
      std::set<std::uint32_t> live;
      for (const alloc::UnitRun& run : space->live_runs(id)) {
        for (std::uint32_t unit = run.unit; unit < run.end(); ++unit) live.insert(unit);
      }
      REQUIRE(live == expected[id]);
    }
    const alloc::SpaceCounters& counters = space->counters();
    REQUIRE(counters.in_flight == 0);
  }

  io::Rng rng;
  Fixture f;
  Space* space = nullptr;
  std::vector<LogRecord> records = {{}};  // by LSN
  std::map<alloc::ZoneId, ZoneCreation> zones;
  std::vector<alloc::Extent> own;  // of users
  Root root;
};

TEST_CASE("space: after a crash anywhere in a checkpoint exactly what somebody names is live") {
  const std::uint64_t seed = GENERATE(range(1, 41));
  CAPTURE(seed);
  Checkpointed store(seed);
  for (int step = 0; step < 120; ++step) {
    CAPTURE(step);
    for (std::uint64_t i = store.rng.below(4); i > 0; --i) store.commit();
    const std::uint64_t steps = store.rng.below(12);
    store.checkpoint(steps);
    if (steps < 4 || store.rng.below(4) == 0) store.reopen();
  }
  REQUIRE(store.root.lsn > 0);
}

}  // namespace
}  // namespace hexad::core
