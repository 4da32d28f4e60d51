// Space through checkpoints and replays of the records behind them.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "core/space/space.h"
#include "io/rng.h"
#include "tests/core/space_fixture.h"

namespace hexad::core {
namespace {

using namespace testing;

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
  SpaceFixture f;
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
      space.open_zone(record.zones[0].zone);
    }
    for (std::uint64_t i = rng.below(3); i > 0; --i) {
      const Result<alloc::Extent> extent =
          space.allocate(static_cast<std::uint32_t>(1 + rng.below(5)));
      if (!extent.ok()) continue;
      const std::uint64_t live = rng.below(2) == 0 ? 0 : 1 + rng.below(1000);
      record.allocated.push_back(proof_of(*extent, live));
      if (live > 0) record.allocated.back().footer = static_cast<std::uint32_t>(rng.next());
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
      record.packed_releases.push_back(
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
    SpaceFixture g;
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

TEST_CASE("space: what checkpoints write is live when published, and missing on lost devices") {
  SpaceFixture f;
  Space& space = f.make();
  const ZoneCreation zone = f.add_zone();
  std::vector<alloc::Extent> run = {space.allocate_internal(2).value(),
                                    space.allocate_internal(3).value()};
  f.members->mark_failed(4, "told to");
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
  SpaceFixture f;
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
  SpaceFixture f;
  Space& space = f.make();
  const ZoneCreation zone = f.add_zone();
  LogRecord record;
  record.zones = {zone};
  record.allocated = {proof_of(space.allocate(2).value())};
  space.publish(1, record);
  const std::vector<alloc::ZoneImage> images = space.dirty_images(1).value();
  const alloc::Extent where = {zone.zone, 5, 3};

  Space& known = f.make();
  REQUIRE(known.register_zone(zone.zone, zone.slots, zone.units).ok());
  REQUIRE(known.register_zone(zone.zone, zone.slots, zone.units).ok());
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
  REQUIRE(known.counters().live == 5);
  REQUIRE(known.room().internal == where.units);
  REQUIRE(known.mark_used({zone.zone, 5, 0xfffffff}).error().code == ErrorCode::kCorruption);
  REQUIRE(known.prepare_zone(Zeroing::kNone).value().zone > zone.zone);
  REQUIRE(known.check_invariants().ok());

  // Two opinions about one zone.
  Space& other = f.make();
  std::vector<alloc::ZoneSlot> slots = zone.slots;
  slots[0].slab = 3;
  REQUIRE(other.register_zone(zone.zone, slots, zone.units).ok());
  REQUIRE(other.register_zone(zone.zone, zone.slots, zone.units).error().code ==
          ErrorCode::kCorruption);
  REQUIRE(message(other.load_zone(images[0])) ==
          "zone 1: its image and the manifest name different slabs");
  REQUIRE(other.register_zone(9, slots, zone.units).error().code == ErrorCode::kCorruption);
  slots[0].slab = kSlabs;
  REQUIRE(other.register_zone(9, slots, zone.units).error().code == ErrorCode::kCorruption);
}

TEST_CASE("space: units that the manifest names miss no cells of an owner before") {
  SpaceFixture f(7);
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
  REQUIRE(again.register_zone(zone.zone, zone.slots, zone.units).ok());
  REQUIRE(message(again.load_zone(image)) == "");
  REQUIRE(again.mark_used({zone.zone, 3, 2}).ok());  // was deferred
  REQUIRE(again.mark_used({zone.zone, 1, 1}).ok());  // was live, and is the same
  REQUIRE(again.counters().missing == 2);
  f.members->mark_failed(zone.slots[5].device, "told to");
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
      space->open_zone(record.zones[0].zone);
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
      REQUIRE(message(space->register_zone(zone.zone, zone.slots, zone.units)) == "");
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
  SpaceFixture f;
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
