#include "alloc/zone_set.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "io/rng.h"

using namespace hexad;
using namespace hexad::alloc;

namespace {

constexpr std::uint32_t kSlots = 3;

std::vector<ZoneSlot> slots_for(ZoneId zone) { return {{0, zone}, {1, zone}, {2, zone}}; }

void add_zones(ZoneSet& set, std::uint32_t count, std::uint32_t units) {
  for (ZoneId zone = 0; zone < count; ++zone) {
    REQUIRE(set.add_zone(zone, slots_for(zone), units).ok());
  }
}

// So many zones of so many units each, nothing in them.
struct Zones : ZoneSet {
  Zones(std::uint32_t count, std::uint32_t units, std::uint64_t reserve = 0)
      : ZoneSet(kSlots, reserve) {
    add_zones(*this, count, units);
  }
  // A run of `units` that is live.
  Extent live(std::uint32_t units, Lsn lsn) {
    const Extent extent = *allocate(units);
    publish_alloc(extent, lsn);
    return extent;
  }
  // The same for a pack stripe with `bytes` alive.
  Extent live_pack(std::uint32_t units, Lsn lsn, std::uint64_t bytes) {
    const Extent extent = *allocate(units);
    publish_pack(extent, lsn, bytes);
    return extent;
  }
};

enum class State { kFree, kInFlight, kLive, kDeferred };

// One effect of a record of the log, as replay sees it.
struct Record {
  enum class Kind { kAlloc, kFree, kPack, kDrop };
  Lsn lsn;
  Kind kind;
  Extent extent;
  std::uint64_t bytes = 0;  // of a pack stripe: alive, or dying
};

Status replay(ZoneSet& set, const Record& record) {
  switch (record.kind) {
    case Record::Kind::kAlloc:
      return set.replay_alloc(record.extent, record.lsn);
    case Record::Kind::kFree:
      return set.replay_free(record.extent, record.lsn);
    case Record::Kind::kPack:
      return set.replay_pack(record.extent, record.lsn, record.bytes);
    case Record::Kind::kDrop:
      break;
  }
  return set.replay_drop_live(record.extent.zone, record.extent.unit, record.bytes, record.lsn);
}

// The allocator in the simplest words: a state per unit.
struct Model {
  struct Unit {
    State state = State::kFree;
    Lsn freed = 0;
    std::set<std::uint32_t> missing;
  };
  std::vector<std::vector<Unit>> zones;
  std::map<Extent, std::uint64_t> packs;  // live bytes

  template <typename Change>
  void each(const Extent& extent, const Change& change) {
    for (std::uint32_t u = extent.unit; u < extent.end(); ++u) change(zones[extent.zone][u]);
  }
  void set(const Extent& extent, State state, Lsn freed = 0) {
    each(extent, [&](Unit& unit) {
      unit.state = state;
      unit.freed = freed;
      if (state == State::kFree) unit.missing.clear();
    });
  }
  bool all(const Extent& extent, State state) {
    bool result = true;
    each(extent, [&](const Unit& unit) { result = result && unit.state == state; });
    return result;
  }
  void reclaim(Lsn limit) {
    for (auto& zone : zones) {
      for (Unit& unit : zone) {
        if (unit.state == State::kDeferred && unit.freed <= limit) unit = Unit{};
      }
    }
  }
  void crash() {
    for (auto& zone : zones) {
      for (Unit& unit : zone) {
        if (unit.state == State::kInFlight) unit = Unit{};
      }
    }
  }
};

void require_equal(const ZoneSet& set, const Model& model) {
  const Status sound = set.check_invariants();
  INFO((sound.ok() ? "" : sound.error().message));
  REQUIRE(sound.ok());
  SpaceCounters sum;
  std::map<Extent, std::uint64_t> packs;
  for (ZoneId zone = 0; zone < model.zones.size(); ++zone) {
    const auto& units = model.zones[zone];
    for (const PackStripe& pack : set.packs(zone)) {
      packs[{zone, pack.run.unit, pack.run.units}] = pack.live;
      REQUIRE(set.pack_at(zone, pack.run.unit) == pack);
    }
    std::vector<bool> live(units.size());
    for (const UnitRun& run : set.live_runs(zone)) {
      for (std::uint32_t u = run.unit; u < run.end(); ++u) live[u] = true;
    }
    sum.total += units.size() - 1;
    for (std::uint32_t u = 1; u < units.size(); ++u) {
      REQUIRE(live[u] == (units[u].state == State::kLive));
      if (units[u].state == State::kFree) ++sum.free;
      if (units[u].state == State::kInFlight) ++sum.in_flight;
      if (units[u].state == State::kLive) ++sum.live;
      if (units[u].state == State::kDeferred) ++sum.deferred;
      sum.missing += units[u].missing.size();
      for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
        REQUIRE(set.is_missing({zone, u, 1}, slot) == units[u].missing.contains(slot));
      }
    }
  }
  REQUIRE(set.counters() == sum);
  REQUIRE(packs == model.packs);
}

}  // namespace

TEST_CASE("zone_set: random lives of extents match a state per unit, through crash and replay") {
  const std::uint64_t seed = GENERATE(1, 2, 3, 4, 5, 6, 7, 8);
  CAPTURE(seed);
  io::Rng rng(seed);
  constexpr std::uint32_t kZones = 4;
  constexpr std::uint32_t kUnits = 120;
  auto set = std::make_unique<ZoneSet>(kSlots);
  add_zones(*set, kZones, kUnits);
  Model model;
  model.zones.assign(kZones, std::vector<Model::Unit>(kUnits));
  std::vector<Extent> in_flight;
  std::vector<Extent> live;
  std::vector<Record> log;
  std::vector<ZoneImage> images;
  for (ZoneId zone = 0; zone < kZones; ++zone) images.push_back(*set->image(zone, 0));
  Lsn lsn = 0;
  Lsn reclaimed = 0;

  for (int step = 0; step < 4000; ++step) {
    CAPTURE(step);
    const std::uint64_t dice = rng.below(100);
    const auto pick = [&](std::vector<Extent>& from) {
      const std::size_t at = rng.below(from.size());
      std::swap(from[at], from.back());
      const Extent extent = from.back();
      from.pop_back();
      return extent;
    };
    if (dice < 40) {
      const auto units = static_cast<std::uint32_t>(1 + rng.below(12));
      const auto extent = set->allocate(units);
      if (extent.ok()) {
        REQUIRE(extent->units == units);
        REQUIRE(extent->unit > 0);
        REQUIRE(model.all(*extent, State::kFree));
        model.set(*extent, State::kInFlight);
        in_flight.push_back(*extent);
      } else {
        REQUIRE(extent.error().code == ErrorCode::kNoSpace);
        REQUIRE(set->largest_free_run() < units);
      }
    } else if (dice < 45 && !in_flight.empty()) {
      const Extent extent = pick(in_flight);
      set->discard(extent);
      model.set(extent, State::kFree);
    } else if (dice < 60 && !in_flight.empty()) {
      const Extent extent = pick(in_flight);
      set->publish_alloc(extent, ++lsn);
      model.set(extent, State::kLive);
      log.push_back({lsn, Record::Kind::kAlloc, extent});
      live.push_back(extent);
    } else if (dice < 70 && !in_flight.empty()) {
      const Extent extent = pick(in_flight);
      const std::uint64_t bytes = 1 + rng.below(1000);
      set->publish_pack(extent, ++lsn, bytes);
      model.set(extent, State::kLive);
      model.packs[extent] = bytes;
      log.push_back({lsn, Record::Kind::kPack, extent, bytes});
    } else if (dice < 80 && !model.packs.empty()) {
      const auto at = std::next(model.packs.begin(),
                                static_cast<std::ptrdiff_t>(rng.below(model.packs.size())));
      const Extent extent = at->first;
      const auto drop = [&](std::uint32_t unit, std::uint64_t bytes) {
        return set->drop_live(extent.zone, unit, bytes, lsn + 1).error().code;
      };
      REQUIRE(drop(extent.unit, at->second + 1) == ErrorCode::kCorruption);
      if (extent.units > 1) REQUIRE(drop(extent.unit + 1, 1) == ErrorCode::kCorruption);
      const std::uint64_t bytes = rng.chance(1, 2) ? at->second : 1 + rng.below(at->second);
      REQUIRE(set->drop_live(extent.zone, extent.unit, bytes, ++lsn).ok());
      log.push_back({lsn, Record::Kind::kDrop, extent, bytes});
      at->second -= bytes;
      if (at->second == 0) {
        model.packs.erase(at);
        model.set(extent, State::kDeferred, lsn);
        REQUIRE(drop(extent.unit, 1) == ErrorCode::kCorruption);
      }
    } else if (dice < 90 && !live.empty()) {
      Extent extent = pick(live);
      if (extent.units > 1 && rng.chance(1, 4)) {
        // Part of it, from either end.
        const auto cut = static_cast<std::uint32_t>(1 + rng.below(extent.units - 1));
        const Extent tail{extent.zone, extent.unit + cut, extent.units - cut};
        extent.units = cut;
        live.push_back(tail);
      }
      REQUIRE(set->publish_free(extent, ++lsn).ok());
      model.set(extent, State::kDeferred, lsn);
      log.push_back({lsn, Record::Kind::kFree, extent});
      REQUIRE(set->publish_free(extent, lsn).error().code == ErrorCode::kCorruption);
    } else if (dice < 94) {
      reclaimed = std::max<Lsn>(reclaimed, lsn - rng.below(std::min<Lsn>(lsn, 20) + 1));
      const std::uint64_t before = set->counters().deferred;
      const std::uint64_t units = set->reclaim(reclaimed);
      REQUIRE(units == before - set->counters().deferred);
      model.reclaim(reclaimed);
    } else if (dice < 96 && !live.empty()) {
      const Extent extent = live[rng.below(live.size())];
      const auto slot = static_cast<std::uint32_t>(rng.below(kSlots));
      if (rng.chance(2, 3)) {
        REQUIRE(set->mark_missing(extent, slot).ok());
        model.each(extent, [&](Model::Unit& unit) { unit.missing.insert(slot); });
      } else {
        REQUIRE(set->clear_missing(extent, slot).ok());
        model.each(extent, [&](Model::Unit& unit) { unit.missing.erase(slot); });
      }
    } else if (dice < 97) {
      // A checkpoint writes some zones; the log of the others is still needed.
      for (ZoneId zone = 0; zone < kZones; ++zone) {
        if (rng.chance(1, 2)) continue;
        const auto image = set->image(zone, lsn);
        REQUIRE(image.ok());
        const auto decoded = decode_zone_image(as_bytes(encode_zone_image(*image)));
        REQUIRE(decoded.ok());
        REQUIRE(*decoded == *image);
        images[zone] = *decoded;
      }
    } else if (dice < 98) {
      // Crash: in flight is gone; images and log bring back the rest. Marks of missing cells that
      // are younger than the images are made again by the caller, and here by this test.
      set = std::make_unique<ZoneSet>(kSlots);
      for (const ZoneImage& image : images) REQUIRE(set->load_zone(image).ok());
      for (const Record& record : log) {
        const Status replayed = replay(*set, record);
        INFO((replayed.ok() ? "" : replayed.error().message));
        REQUIRE(replayed.ok());
      }
      in_flight.clear();
      model.crash();
      set->reclaim(reclaimed);
      for (ZoneId zone = 0; zone < kZones; ++zone) {
        for (std::uint32_t u = 1; u < kUnits; ++u) {
          for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
            const bool missing = model.zones[zone][u].missing.contains(slot);
            if (set->is_missing({zone, u, 1}, slot) == missing) continue;
            const Extent one{zone, u, 1};
            REQUIRE((missing ? set->mark_missing(one, slot) : set->clear_missing(one, slot)).ok());
          }
        }
      }
    }
    if (step % 8 == 0) require_equal(*set, model);
  }
  require_equal(*set, model);
}

TEST_CASE("zone_set: allocations follow one another, and the zones take turns") {
  Zones set(3, 1025);
  std::vector<ZoneId> zones;
  Extent last;
  for (int i = 0; i < 48; ++i) {
    const auto extent = set.allocate(64);
    REQUIRE(extent.ok());
    if (i % 4 == 0) {
      zones.push_back(extent->zone);
    } else {
      CHECK(extent->zone == last.zone);
      CHECK(extent->unit == last.end());
    }
    last = *extent;
  }
  CHECK(zones == std::vector<ZoneId>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2});
  CHECK(set.counters().free == 0);
  CHECK(set.largest_free_run() == 0);
}

TEST_CASE("zone_set: the reserve is for internal use, and a full set says what it has") {
  Zones set(1, 101, 20);
  REQUIRE(set.allocate(80).ok());
  const auto refused = set.allocate(1);
  REQUIRE(!refused.ok());
  CHECK(refused.error().code == ErrorCode::kNoSpace);
  CHECK(refused.error().message ==
        "no run of 1 units: 20 of 100 are free in runs of up to 20, 20 of them reserved, 0 are "
        "waiting to become free");
  CHECK(!set.allocate(21, Purpose::kInternal).ok());
  const auto internal = set.allocate(20, Purpose::kInternal);
  REQUIRE(internal.ok());
  set.set_reserve(0);
  CHECK(set.reserve_units() == 0);
  set.discard(*internal);
  CHECK(set.allocate(20).ok());
  CHECK(set.allocate(0).error().code == ErrorCode::kInvalidArgument);
}

TEST_CASE("zone_set: freed units come back only when the watermark has passed") {
  Zones set(2, 11);
  const Extent a = set.live(10, 1);
  const Extent b = set.live(10, 2);
  REQUIRE(set.publish_free(b, 3).ok());
  REQUIRE(set.publish_free(a, 4).ok());
  CHECK(!set.allocate(1).ok());
  CHECK(set.reclaim(2) == 0);
  CHECK(set.reclaim(3) == 10);
  CHECK(set.allocate(10)->zone == b.zone);
  CHECK(set.reclaim(kMaxLsn) == 10);
  CHECK(set.check_invariants().ok());
}

TEST_CASE("zone_set: records at or below the image are not applied again") {
  Zones set(1, 32);
  const Extent extent = set.live(4, 5);
  ZoneSet loaded(kSlots);
  REQUIRE(loaded.load_zone(*set.image(0, 5)).ok());
  CHECK(loaded.image_lsn(0) == 5);
  CHECK(loaded.replay_alloc(extent, 5).ok());
  CHECK(loaded.replay_free({0, 20, 4}, 4).ok());
  CHECK(loaded.replay_alloc(extent, 6).error().code == ErrorCode::kCorruption);
  CHECK(loaded.replay_free({0, 20, 4}, 6).error().code == ErrorCode::kCorruption);
  CHECK(loaded.replay_free({9, 20, 4}, 6).error().code == ErrorCode::kCorruption);
  CHECK(loaded.replay_alloc({0, 30, 4}, 6).error().code == ErrorCode::kCorruption);
  CHECK(loaded.replay_alloc({0, 0, 4}, 6).error().code == ErrorCode::kCorruption);
  // Freed, reclaimed by the writer, and allocated again across the old boundary.
  CHECK(loaded.replay_free(extent, 7).ok());
  CHECK(loaded.replay_alloc({0, extent.unit + 2, 6}, 8).ok());
  CHECK(loaded.counters().deferred == 2);
  CHECK(loaded.counters().live == 6);
  CHECK(loaded.check_invariants().ok());
}

TEST_CASE("zone_set: what root and manifest name is used, whatever the image said") {
  Zones set(1, 32);
  const Extent extent = set.live(8, 1);
  REQUIRE(set.publish_free({0, extent.unit + 2, 4}, 2).ok());
  const Extent wide{0, extent.unit, 12};
  REQUIRE(set.mark_used(wide).ok());
  REQUIRE(set.mark_used(wide).ok());
  CHECK(set.is_live(wide));
  CHECK(set.counters().live == 12);
  CHECK(set.counters().deferred == 0);
  CHECK(set.mark_used({0, 31, 2}).error().code == ErrorCode::kCorruption);
  const Extent flying = *set.allocate(2);
  CHECK(set.mark_used(flying).error().code == ErrorCode::kCorruption);
  CHECK(set.check_invariants().ok());
}

TEST_CASE("zone_set: the shortest fit leaves long runs, and takes from the start of one") {
  Zones set(2, 32);
  const Extent first = *set.allocate(4);
  REQUIRE(set.allocate(2).ok());
  const Extent second = *set.allocate(3);
  REQUIRE(set.allocate(1).ok());
  set.discard(first);
  set.discard(second);
  const auto shortest = [&](std::uint32_t units) {
    return set.allocate(units, Purpose::kUser, Fit::kShortest);
  };
  CHECK(*shortest(2) == Extent{second.zone, second.unit, 2});
  CHECK(*shortest(1) == Extent{second.zone, second.unit + 2, 1});
  CHECK(*shortest(1) == Extent{first.zone, first.unit, 1});
  CHECK(*shortest(3) == Extent{first.zone, first.unit + 1, 3});
  CHECK(shortest(20)->zone == first.zone);  // the shorter of two
  CHECK(set.largest_free_run() == 31);
  CHECK(shortest(32).error().code == ErrorCode::kNoSpace);
  REQUIRE(set.close_zone(1 - first.zone).ok());
  CHECK(shortest(2).error().code == ErrorCode::kNoSpace);
  CHECK(set.check_invariants().ok());
}

TEST_CASE("zone_set: what is live or in flight may die, and nothing else") {
  ZoneSet set(3);
  REQUIRE(set.add_zone(1, {{0, 0}, {1, 0}, {2, 0}}, 64).ok());
  const Extent extent = set.allocate(4).value();
  CHECK(set.may_die(extent));
  set.publish_alloc(extent, 1);
  CHECK(set.may_die(extent));
  CHECK_FALSE(set.may_die({1, extent.unit, 5}));
  CHECK_FALSE(set.may_die({2, extent.unit, 1}));
  CHECK_FALSE(set.may_die({1, 0, 1}));
  CHECK_FALSE(set.may_die({1, 60, 8}));
  REQUIRE(set.publish_free({1, extent.unit + 1, 1}, 2).ok());
  CHECK_FALSE(set.may_die(extent));
  CHECK(set.may_die({1, extent.unit, 1}));
  set.reclaim(2);
  CHECK_FALSE(set.may_die(extent));
}

TEST_CASE("zone_set: an image without in flight, with what its checkpoint gives up") {
  Zones set(1, 64);
  const Extent old_run = *set.allocate(8);
  const Extent other = *set.allocate(4);
  const Extent flying = *set.allocate(4);
  set.publish_pack(old_run, 1, 100);
  set.publish_pack(other, 2, 200);
  CHECK(set.pack_at(0, other.unit) == PackStripe{other.run(), 200, 2, 0});
  CHECK(!set.pack_at(0, other.unit + 1));
  CHECK(!set.pack_at(0, flying.unit));
  CHECK(!set.pack_at(7, 1));
  CHECK(set.packs(7).empty());
  const Extent given_up[] = {old_run, {5, 1, 1}};
  const auto image = set.image(0, 2, given_up);
  REQUIRE(image.ok());
  CHECK(image->deferred == std::vector<DeferredFree>{{old_run.run(), 2, 0}});
  CHECK(image->packs == std::vector<PackStripe>{{other.run(), 200, 2, 0}});
  CHECK(set.is_live(old_run));
  ZoneSet loaded(kSlots);
  REQUIRE(loaded.load_zone(*image).ok());
  CHECK(loaded.counters().live == 4);
  CHECK(loaded.counters().deferred == 8);
  CHECK(loaded.counters().in_flight == 0);
  CHECK(loaded.packs(0) == std::vector<PackStripe>{{other.run(), 200, 2, 0}});
  CHECK(set.image(0, 2, std::vector<Extent>{flying}).error().code == ErrorCode::kCorruption);
  CHECK(set.image(0, 2, std::vector<Extent>{old_run, old_run}).error().code ==
        ErrorCode::kCorruption);
  CHECK(set.image(0, 1).error().code == ErrorCode::kCorruption);
  CHECK(set.image(3, 2).error().code == ErrorCode::kNotFound);
}

TEST_CASE("zone_set: a pack stripe is freed with its last live byte, by the LSN that took it") {
  Zones set(1, 64);
  const Extent extent = set.live_pack(4, 1, 100);
  REQUIRE(set.drop_live(0, extent.unit, 60, 2).ok());
  CHECK(set.pack_at(0, extent.unit) == PackStripe{extent.run(), 40, 1, 0});
  CHECK(set.is_live(extent));
  CHECK(set.drop_live(0, extent.unit, 41, 3).error().message ==
        "zone 0 unit " + std::to_string(extent.unit) +
            ": LSN 3 takes 41 bytes from a pack stripe that has 40");
  REQUIRE(set.drop_live(0, extent.unit, 40, 5).ok());
  CHECK(!set.pack_at(0, extent.unit));
  CHECK(set.counters().deferred == 4);
  CHECK(set.reclaim(4) == 0);
  CHECK(set.reclaim(5) == 4);
  CHECK(set.drop_live(0, extent.unit, 0, 6).error().code == ErrorCode::kCorruption);
  CHECK(set.drop_live(9, extent.unit, 1, 6).error().code == ErrorCode::kCorruption);
  CHECK(set.check_invariants().ok());
}

TEST_CASE("zone_set: who frees a pack stripe whole takes its live bytes along") {
  Zones set(1, 64);
  const Extent extent = set.live_pack(4, 1, 100);
  REQUIRE(set.publish_free(extent, 2).ok());
  CHECK(!set.pack_at(0, extent.unit));
  CHECK(set.packs(0).empty());
  CHECK(set.check_invariants().ok());
}

TEST_CASE("zone_set: pack stripes and their releases are replayed once, behind the image only") {
  Zones set(1, 64);
  const Extent extent = set.live_pack(4, 3, 100);
  REQUIRE(set.drop_live(0, extent.unit, 30, 4).ok());
  ZoneSet loaded(kSlots);
  REQUIRE(loaded.load_zone(*set.image(0, 5)).ok());
  // At or below the image: not looked at, however wrong.
  CHECK(loaded.replay_pack(extent, 3, 100).ok());
  CHECK(loaded.replay_drop_live(0, extent.unit, 30, 4).ok());
  CHECK(loaded.replay_drop_live(0, extent.unit, 1000, 5).ok());
  CHECK(loaded.pack_at(0, extent.unit) == PackStripe{extent.run(), 70, 3, 0});
  // Behind it.
  CHECK(loaded.replay_pack({0, 40, 2}, 6, 0).error().code == ErrorCode::kCorruption);
  CHECK(!loaded.is_live({0, 40, 2}));
  CHECK(loaded.replay_pack({0, extent.unit + 3, 2}, 6, 9).error().code == ErrorCode::kCorruption);
  CHECK(loaded.replay_pack({3, 1, 2}, 6, 9).error().code == ErrorCode::kCorruption);
  CHECK(loaded.replay_pack({0, 63, 2}, 6, 9).error().code == ErrorCode::kCorruption);
  CHECK(loaded.replay_drop_live(3, 1, 9, 6).error().code == ErrorCode::kCorruption);
  CHECK(loaded.replay_drop_live(0, extent.unit, 71, 6).error().code == ErrorCode::kCorruption);
  REQUIRE(loaded.replay_pack({0, 40, 2}, 6, 9).ok());
  REQUIRE(loaded.replay_drop_live(0, extent.unit, 70, 7).ok());
  CHECK(loaded.packs(0) == std::vector<PackStripe>{{{40, 2}, 9, 6, 0}});
  CHECK(loaded.counters().deferred == 4);
  // The same units again, reclaimed by the writer in between.
  REQUIRE(loaded.replay_pack(extent, 8, 1).ok());
  CHECK(loaded.counters().deferred == 0);
  CHECK(loaded.check_invariants().ok());
}

TEST_CASE("zone_set: missing cells stay known until the units are reclaimed") {
  Zones set(1, 64);
  const Extent extent = *set.allocate(8);
  CHECK(set.mark_missing(extent, 1).error().code == ErrorCode::kInvalidArgument);
  set.publish_alloc(extent, 1);
  REQUIRE(set.mark_missing(extent, 1).ok());
  REQUIRE(set.mark_missing({0, extent.unit, 2}, 1).ok());
  CHECK(set.missing_runs(0, 1) == std::vector<UnitRun>{extent.run()});
  CHECK(set.missing_runs(0, 0).empty());
  CHECK(set.counters().missing == 8);
  REQUIRE(set.publish_free(extent, 2).ok());
  CHECK(set.is_missing({0, extent.unit + 7, 9}, 1));
  set.reclaim(2);
  CHECK(!set.is_missing(extent, 1));
  CHECK(set.counters().missing == 0);
  CHECK(!set.is_missing({7, 1, 1}, 0));
  CHECK(set.missing_runs(7, 0).empty());
  CHECK(set.mark_missing(extent, 3).error().code == ErrorCode::kInvalidArgument);
  CHECK(set.clear_missing({0, 60, 10}, 0).error().code == ErrorCode::kInvalidArgument);
}

TEST_CASE("zone_set: a closed zone gives nothing, an empty one can be removed") {
  Zones set(2, 33);
  REQUIRE(set.close_zone(0).ok());
  CHECK(set.counters().closed_free == 32);
  CHECK(set.counters().free == 32);
  for (int i = 0; i < 2; ++i) CHECK(set.allocate(16)->zone == 1);
  CHECK(set.allocate(1).error().code == ErrorCode::kNoSpace);
  REQUIRE(set.open_zone(0).ok());
  const Extent extent = *set.allocate(16);
  CHECK(extent.zone == 0);
  CHECK(set.remove_zone(0).error().code == ErrorCode::kNotEmpty);
  set.discard(extent);
  REQUIRE(set.remove_zone(0).ok());
  CHECK(set.remove_zone(0).error().code == ErrorCode::kNotFound);
  CHECK(set.close_zone(0).error().code == ErrorCode::kNotFound);
  CHECK(set.zone_ids() == std::vector<ZoneId>{1});
  CHECK(set.zone_count() == 1);
  CHECK(set.slots(0) == nullptr);
  CHECK(set.zone_units(0) == 0);
  CHECK(set.zone_units(1) == 33);
  REQUIRE(set.add_zone(0, slots_for(0), 33).ok());
  CHECK(set.allocate(32)->zone == 0);
  CHECK(set.check_invariants().ok());
}

TEST_CASE("zone_set: zones that cannot be are refused, also those of a broken image") {
  Zones set(1, 64);
  CHECK(set.add_zone(0, slots_for(0), 64).error().code == ErrorCode::kAlreadyExists);
  CHECK(set.add_zone(1, {{0, 0}, {0, 1}, {1, 0}}, 64).error().code == ErrorCode::kInvalidArgument);
  CHECK(set.add_zone(1, {{0, 0}}, 64).error().code == ErrorCode::kInvalidArgument);
  CHECK(set.add_zone(1, slots_for(1), 1).error().code == ErrorCode::kInvalidArgument);
  const ZoneImage good = [&] {
    ZoneImage image = *set.image(0, 9);
    image.zone = 1;
    return image;
  }();
  const auto refused = [&](const std::function<void(ZoneImage&)>& change) {
    ZoneImage image = good;
    change(image);
    return set.load_zone(image).error().code;
  };
  using Code = ErrorCode;
  CHECK(refused([](ZoneImage& i) { i.bitmap.clear(); }) == Code::kCorruption);
  CHECK(refused([](ZoneImage& i) { i.bitmap[0] = 0; }) == Code::kCorruption);
  CHECK(refused([](ZoneImage& i) { i.deferred = {{{5, 1}, 1}}; }) == Code::kCorruption);
  CHECK(refused([](ZoneImage& i) { i.missing = {{0, {5, 1}}}; }) == Code::kCorruption);
  CHECK(refused([](ZoneImage& i) { i.packs = {{{5, 1}, 1}}; }) == Code::kCorruption);
  // Units 1 to 4 taken: pack stripes on top of each other, beyond them, or in a deferred unit.
  const auto refused_pack = [&](std::vector<PackStripe> packs, std::vector<DeferredFree> deferred) {
    return refused([&](ZoneImage& i) {
      i.bitmap[0] |= 0b11110;
      i.packs = std::move(packs);
      i.deferred = std::move(deferred);
    });
  };
  CHECK(refused_pack({{{1, 3}, 1}, {{3, 1}, 1}}, {}) == Code::kCorruption);
  CHECK(refused_pack({{{4, 2}, 1}}, {}) == Code::kCorruption);
  CHECK(refused_pack({{{1, 2}, 1}}, {{{2, 1}, 9}}) == Code::kCorruption);
  CHECK(refused([](ZoneImage& i) { i.slots.pop_back(); }) == Code::kInvalidArgument);
  CHECK(set.load_zone(good).ok());
  CHECK(set.check_invariants().ok());
}

TEST_CASE("zone_set: a slot can be put on another device, not on one the zone has") {
  Zones set(1, 64);
  REQUIRE(set.replace_slot(0, 1, {7, 3}).ok());
  CHECK((*set.slots(0))[1] == ZoneSlot{7, 3});
  CHECK(set.replace_slot(0, 0, {7, 4}).error().code == ErrorCode::kInvalidArgument);
  CHECK(set.replace_slot(0, 9, {8, 4}).error().code == ErrorCode::kInvalidArgument);
  CHECK(set.replace_slot(5, 0, {8, 4}).error().code == ErrorCode::kNotFound);
}

TEST_CASE("zone_set: only zones that changed need a new image") {
  Zones set(2, 64);
  for (const ZoneId zone : set.dirty_zones()) set.clear_dirty(zone);
  CHECK(set.dirty_zones().empty());
  const Extent extent = *set.allocate(4);
  CHECK(set.dirty_zones().empty());
  set.publish_alloc(extent, 1);
  CHECK(set.dirty_zones() == std::vector<ZoneId>{extent.zone});
}

TEST_CASE("zone_set: fragmentation is 0 for one hole and 1 for single units") {
  Zones set(1, 101);
  CHECK(set.fragmentation() == 0);
  std::vector<Extent> all;
  for (int i = 0; i < 100; ++i) all.push_back(*set.allocate(1));
  CHECK(set.fragmentation() == 0);
  for (std::size_t i = 0; i < all.size(); i += 2) set.discard(all[i]);
  CHECK(set.fragmentation() == 1);
}

TEST_CASE("zone_set: what readers need by birth and death is held for them, and nothing else") {
  const std::uint64_t seed = GENERATE(range(1, 17));
  CAPTURE(seed);
  io::Rng rng(seed);
  Zones set(3, 64);
  struct Stripe {
    Extent extent;
    Lsn born = 0;
    Lsn freed = 0;  // 0: live
  };
  std::vector<Stripe> stripes;
  std::vector<ReadRange> readers;
  Lsn reclaimed = 0;
  int held = 0;
  int passed = 0;  // freed while an older reader looks at something else
  for (Lsn lsn = 1; lsn <= 800; ++lsn) {
    CAPTURE(lsn);
    if (rng.below(2) == 0) {
      const Result<Extent> extent = set.allocate(static_cast<std::uint32_t>(1 + rng.below(6)));
      if (extent.ok()) {
        set.publish_alloc(*extent, lsn);
        stripes.push_back({*extent, lsn});
        // As a stripe of unplaced blobs, which were there before.
        if (rng.below(4) == 0) {
          stripes.back().born = lsn - rng.below(std::min<Lsn>(lsn, 10));
          set.born_before(*extent, stripes.back().born);
        }
      }
    } else if (!stripes.empty()) {
      Stripe& stripe = stripes[rng.below(stripes.size())];
      if (stripe.freed == 0) {
        REQUIRE(set.publish_free(stripe.extent, lsn).ok());
        stripe.freed = lsn;
      }
    }
    if (rng.below(20) == 0 && readers.size() < 4) {
      // Of a state that is not older than what was reclaimed, and records up to somewhat later.
      const Lsn from = reclaimed + rng.below(lsn - reclaimed + 1);
      readers.push_back({from, from + rng.below(lsn - from + 1)});
    }
    if (rng.below(40) == 0 && !readers.empty()) {
      readers.erase(readers.begin() + static_cast<std::ptrdiff_t>(rng.below(readers.size())));
    }
    if (rng.below(3) > 0) continue;
    reclaimed = std::max<Lsn>(reclaimed, lsn - rng.below(std::min<Lsn>(lsn, 8)));
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    const Lsn oldest = readers.empty() ? reclaimed : std::min(reclaimed, readers.front().from);
    const std::uint64_t before = set.counters().deferred;
    const std::uint64_t units = set.reclaim(reclaimed, readers, oldest);
    REQUIRE(set.counters().deferred == before - units);
    std::uint64_t deferred = 0;
    std::uint64_t needed = 0;
    std::erase_if(stripes, [&](const Stripe& stripe) {
      if (stripe.freed == 0) return false;
      const bool any = std::any_of(readers.begin(), readers.end(), [&](const ReadRange& reader) {
        return stripe.born <= reader.upto && stripe.freed > reader.from;
      });
      const bool stays = stripe.freed > reclaimed || any;
      if (stays) deferred += stripe.extent.units;
      if (stripe.freed <= reclaimed && any) needed += stripe.extent.units;
      if (!stays && stripe.freed > oldest) ++passed;
      return !stays;
    });
    if (needed > 0) ++held;
    REQUIRE(set.counters().deferred == deferred);
    std::uint64_t of_readers = 0;
    for (const ReadRange& reader : readers) of_readers += set.held_for(reader);
    REQUIRE(of_readers == needed);
    const Status sound = set.check_invariants();
    INFO((sound.ok() ? "" : sound.error().message));
    REQUIRE(sound.ok());
  }
  REQUIRE(held > 10);
  REQUIRE(passed > 10);
}
