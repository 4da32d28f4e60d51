#include "alloc/zone_state.h"

#include <catch2/catch.hpp>

using namespace hexad;
using namespace hexad::alloc;

namespace {

constexpr std::uint32_t kUnits = 9;  // one is the header's
const std::vector<ZoneSlot> kSlots = {{0, 4}, {1, 5}, {2, 6}};

ZoneState empty_zone() { return {7, kSlots, kUnits}; }

// What lives, and since when: from an allocation that is published.
UnitRun live_run(ZoneState& zone, std::uint32_t units, Lsn lsn) {
  const UnitRun run = zone.take(units);
  zone.publish_alloc(run, lsn);
  return run;
}

// Where records have allocated the run and freed it again, at LSN 2.
ZoneState zone_without(UnitRun freed) {
  ZoneState zone = empty_zone();
  REQUIRE(zone.replay_alloc(freed, 1).ok());
  REQUIRE(zone.replay_free(freed, 2).ok());
  return zone;
}

void require_sound(const ZoneState& zone) {
  const Status sound = zone.check_invariants();
  INFO((sound.ok() ? "" : sound.error().message));
  REQUIRE(sound.ok());
}

std::optional<ErrorCode> code_of(const Status& status) {
  return status.ok() ? std::nullopt : std::optional<ErrorCode>(status.error().code);
}

// Calls `use` with every two runs of units behind the header.
template <typename Use>
void for_each_pair(const Use& use) {
  std::vector<UnitRun> runs;
  for (std::uint32_t unit = 1; unit < kUnits; ++unit) {
    for (std::uint32_t units = 1; unit + units <= kUnits; ++units) runs.push_back({unit, units});
  }
  for (const UnitRun a : runs) {
    for (const UnitRun b : runs) {
      CAPTURE(a.unit, a.units, b.unit, b.units);
      use(a, b);
    }
  }
}

bool meet(UnitRun a, UnitRun b) { return a.unit < b.end() && b.unit < a.end(); }

}  // namespace

TEST_CASE("zone_state: a new zone is free but for its header, open and to be written") {
  const ZoneState zone = empty_zone();
  REQUIRE(zone.id() == 7);
  REQUIRE(zone.units() == kUnits);
  REQUIRE(zone.slots() == kSlots);
  REQUIRE(zone.image_lsn() == 0);
  REQUIRE(zone.is_open());
  REQUIRE(zone.is_empty());
  REQUIRE(zone.is_dirty());
  REQUIRE(zone.longest() == 8);
  REQUIRE(zone.free_run_count() == 1);
  REQUIRE_FALSE(zone.oldest_deferred().has_value());
  REQUIRE(zone.live_runs().empty());
  REQUIRE(zone.counters() == SpaceCounters{.total = 8, .free = 8});
  require_sound(zone);
}

TEST_CASE("zone_state: counters add up and cancel out") {
  const SpaceCounters one{1, 2, 3, 4, 5, 6, 7};
  SpaceCounters sum = one;
  sum += one;
  REQUIRE(sum == SpaceCounters{2, 4, 6, 8, 10, 12, 14});
  sum -= one;
  REQUIRE(sum == one);
}

TEST_CASE("zone_state: runs that are not in the zone, or hold its header, are none of it") {
  const ZoneState zone = empty_zone();
  REQUIRE(zone.has({1, 8}));
  REQUIRE(zone.has({8, 1}));
  for (const UnitRun run : {UnitRun{0, 1}, UnitRun{0, 9}, UnitRun{1, 0}, UnitRun{1, 9},
                            UnitRun{9, 1}, UnitRun{8, ~0U}, UnitRun{~0U, ~0U}}) {
    CAPTURE(run.unit, run.units);
    REQUIRE_FALSE(zone.has(run));
    REQUIRE_FALSE(zone.is_live(run));
  }
}

TEST_CASE("zone_state: an extent goes from free over in flight and live to deferred, and back") {
  ZoneState zone = empty_zone();
  const UnitRun run = zone.take(3);
  REQUIRE(run == UnitRun{1, 3});
  REQUIRE(zone.counters() == SpaceCounters{.total = 8, .free = 5, .in_flight = 3});
  REQUIRE(zone.in_flight_runs() == std::vector<UnitRun>{run});
  REQUIRE_FALSE(zone.is_live(run));
  require_sound(zone);
  zone.publish_alloc(run, 10);
  REQUIRE(zone.in_flight_runs().empty());
  REQUIRE(zone.counters() == SpaceCounters{.total = 8, .free = 5, .live = 3});
  REQUIRE(zone.is_live(run));
  REQUIRE(zone.is_live({2, 1}));
  REQUIRE_FALSE(zone.is_live({2, 3}));
  require_sound(zone);
  REQUIRE(zone.publish_free({1, 2}, 11).ok());
  REQUIRE(zone.counters() == SpaceCounters{.total = 8, .free = 5, .live = 1, .deferred = 2});
  REQUIRE(zone.oldest_deferred() == 11);
  REQUIRE(zone.live_runs() == std::vector<UnitRun>{{3, 1}});
  REQUIRE(zone.longest() == 5);
  require_sound(zone);
  // Twice, or not all of it live.
  for (const UnitRun wrong : {UnitRun{1, 2}, UnitRun{2, 2}, UnitRun{3, 2}, UnitRun{0, 1}}) {
    REQUIRE(code_of(zone.publish_free(wrong, 12)) == ErrorCode::kCorruption);
  }
  zone.reclaim(10);
  REQUIRE(zone.counters().deferred == 2);
  zone.reclaim(11);
  REQUIRE(zone.counters() == SpaceCounters{.total = 8, .free = 7, .live = 1});
  REQUIRE_FALSE(zone.oldest_deferred().has_value());
  require_sound(zone);
}

TEST_CASE("zone_state: allocations follow each other, what is abandoned is free at once") {
  ZoneState zone = empty_zone();
  REQUIRE(zone.take(2) == UnitRun{1, 2});
  REQUIRE(zone.take(2) == UnitRun{3, 2});
  zone.discard({1, 2});
  REQUIRE(zone.take(1) == UnitRun{5, 1});  // behind the last one
  REQUIRE(zone.longest() == 3);
  REQUIRE(zone.take(3) == UnitRun{6, 3});
  REQUIRE(zone.take(2) == UnitRun{1, 2});  // from the start again
  REQUIRE(zone.longest() == 0);
  REQUIRE(zone.counters().in_flight == 8);
  require_sound(zone);
}

TEST_CASE("zone_state: a closed zone gives nothing and counts what it has apart") {
  ZoneState zone = empty_zone();
  live_run(zone, 3, 1);
  zone.close();
  REQUIRE(zone.longest() == 0);
  REQUIRE(zone.counters() == SpaceCounters{.total = 8, .closed_free = 5, .live = 3});
  zone.open();
  REQUIRE(zone.longest() == 5);
}

TEST_CASE("zone_state: deferred runs become free in the order they were freed") {
  ZoneState zone = empty_zone();
  std::vector<UnitRun> runs;
  for (Lsn lsn = 1; lsn <= 4; ++lsn) runs.push_back(live_run(zone, 2, lsn));
  for (const std::size_t i : {2, 0, 3, 1}) REQUIRE(zone.publish_free(runs[i], 10 + i).ok());
  for (Lsn limit = 10; limit < 14; ++limit) {
    REQUIRE(zone.oldest_deferred() == limit);
    zone.reclaim(limit);
    REQUIRE(zone.counters().deferred == 2 * (13 - limit));
    require_sound(zone);
  }
}

// --- replay ---

TEST_CASE("zone_state: what is deferred is live again where a record allocates it anew") {
  for_each_pair([](UnitRun freed, UnitRun again) {
    ZoneState zone = zone_without(freed);
    REQUIRE(zone.replay_alloc(again, 3).ok());
    require_sound(zone);
    REQUIRE(zone.live_runs() == std::vector<UnitRun>{again});
    std::uint32_t left = 0;
    for (std::uint32_t unit = freed.unit; unit < freed.end(); ++unit) {
      left += meet({unit, 1}, again) ? 0 : 1;
    }
    REQUIRE(zone.counters().deferred == left);
    // What is left of it is still of the LSN that freed it.
    if (left > 0) REQUIRE(zone.oldest_deferred() == 2);
    zone.reclaim(2);
    REQUIRE(zone.counters().free == 8 - again.units);
    REQUIRE(zone.is_live(again));
  });
}

TEST_CASE("zone_state: a record cannot allocate what lives, nor free what does not") {
  for_each_pair([](UnitRun alive, UnitRun other) {
    ZoneState zone = empty_zone();
    REQUIRE(zone.replay_alloc(alive, 1).ok());
    const SpaceCounters before = zone.counters();
    const bool inside = other.unit >= alive.unit && other.end() <= alive.end();
    if (meet(alive, other)) {
      REQUIRE(code_of(zone.replay_alloc(other, 2)) == ErrorCode::kCorruption);
      REQUIRE(zone.counters() == before);
    }
    if (!inside) {
      REQUIRE(code_of(zone.replay_free(other, 2)) == ErrorCode::kCorruption);
      REQUIRE(zone.counters() == before);
    }
    require_sound(zone);
  });
}

TEST_CASE("zone_state: what the image holds is not replayed") {
  ZoneState zone = empty_zone();
  REQUIRE(zone.replay_alloc({1, 2}, 5).ok());
  REQUIRE(zone.replay_pack({3, 2}, 6, 100).ok());
  ZoneState loaded = ZoneState::from_image(zone.image(6, {}).value()).value();
  REQUIRE(loaded.image_lsn() == 6);
  REQUIRE_FALSE(loaded.is_dirty());
  const SpaceCounters before = loaded.counters();
  // All of this contradicts what is there; it is older.
  REQUIRE(loaded.replay_alloc({1, 2}, 6).ok());
  REQUIRE(loaded.replay_free({7, 1}, 6).ok());
  REQUIRE(loaded.replay_pack({3, 2}, 6, 0).ok());
  REQUIRE(loaded.replay_drop_live(7, 1, 6).ok());
  REQUIRE(loaded.counters() == before);
  REQUIRE_FALSE(loaded.is_dirty());
  REQUIRE(code_of(loaded.replay_alloc({1, 2}, 7)) == ErrorCode::kCorruption);
  REQUIRE(code_of(loaded.replay_free({7, 1}, 7)) == ErrorCode::kCorruption);
  REQUIRE(code_of(loaded.replay_pack({7, 1}, 7, 0)) == ErrorCode::kCorruption);
  REQUIRE(code_of(loaded.replay_drop_live(7, 1, 7)) == ErrorCode::kCorruption);
}

TEST_CASE("zone_state: units named as used are live, whatever they were, but not in flight") {
  for_each_pair([](UnitRun freed, UnitRun used) {
    ZoneState zone = zone_without(freed);
    REQUIRE(zone.mark_used(used).ok());
    require_sound(zone);
    REQUIRE(zone.is_live(used));
    REQUIRE(zone.counters().live == used.units);
  });
  ZoneState zone = empty_zone();
  zone.take(3);
  REQUIRE(code_of(zone.mark_used({3, 2})) == ErrorCode::kCorruption);
  REQUIRE(zone.mark_used({4, 2}).ok());
  REQUIRE(zone.mark_used({5, 2}).ok());  // again
  zone.clear_dirty();
  REQUIRE(zone.mark_used({4, 3}).ok());
  REQUIRE_FALSE(zone.is_dirty());  // nothing new
  REQUIRE(zone.counters().live == 3);
  require_sound(zone);
}

// --- missing cells ---

TEST_CASE("zone_state: cells are missing on a slot until they are there or the units are free") {
  ZoneState zone = empty_zone();
  const UnitRun run = live_run(zone, 4, 1);
  REQUIRE(zone.mark_missing(run, 1).ok());
  REQUIRE(zone.mark_missing({2, 1}, 2).ok());
  zone.clear_dirty();
  REQUIRE(zone.is_missing({4, 5}, 1));
  REQUIRE_FALSE(zone.is_missing({4, 5}, 2));
  REQUIRE_FALSE(zone.is_missing(run, 0));
  REQUIRE(zone.counters().missing == 5);
  zone.clear_missing({1, 2}, 1);
  REQUIRE(zone.is_dirty());
  REQUIRE(zone.missing_runs(1) == std::vector<UnitRun>{{3, 2}});
  REQUIRE(zone.missing_runs(2) == std::vector<UnitRun>{{2, 1}});
  require_sound(zone);
  // Who may still read the units has to know; who gets them next does not.
  REQUIRE(zone.publish_free(run, 2).ok());
  REQUIRE(zone.is_missing(run, 1));
  require_sound(zone);
  zone.reclaim(2);
  REQUIRE(zone.counters().missing == 0);
  require_sound(zone);
}

TEST_CASE("zone_state: only live units can be missing") {
  ZoneState zone = empty_zone();
  live_run(zone, 2, 1);
  zone.take(2);
  for (const UnitRun run :
       {UnitRun{0, 1}, UnitRun{2, 2}, UnitRun{3, 1}, UnitRun{8, 1}, UnitRun{8, 9}}) {
    CAPTURE(run.unit, run.units);
    REQUIRE(code_of(zone.mark_missing(run, 0)) == ErrorCode::kInvalidArgument);
  }
  REQUIRE(zone.counters().missing == 0);
}

TEST_CASE("zone_state: what was missing is not, where a record allocates anew") {
  ZoneState zone = empty_zone();
  REQUIRE(zone.replay_alloc({1, 4}, 1).ok());
  REQUIRE(zone.mark_missing({1, 4}, 0).ok());
  REQUIRE(zone.replay_free({1, 4}, 2).ok());
  REQUIRE(zone.replay_alloc({2, 2}, 3).ok());
  REQUIRE(zone.missing_runs(0) == std::vector<UnitRun>{{1, 1}, {4, 1}});
  require_sound(zone);
}

// --- pack stripes ---

TEST_CASE("zone_state: a pack stripe lives until its last byte dies") {
  ZoneState zone = empty_zone();
  const UnitRun run = zone.take(3);
  zone.publish_pack(run, 5, 100, 77);
  REQUIRE(zone.pack_at(1) == PackStripe{run, 100, 5, 77});
  REQUIRE_FALSE(zone.pack_at(2).has_value());
  REQUIRE(zone.packs() == std::vector<PackStripe>{{run, 100, 5, 77}});
  REQUIRE(zone.counters().live == 3);
  // More than it has, or where none begins.
  REQUIRE(code_of(zone.drop_live(1, 101, 6)) == ErrorCode::kCorruption);
  REQUIRE(code_of(zone.drop_live(2, 1, 6)) == ErrorCode::kCorruption);
  REQUIRE(zone.drop_live(1, 99, 6).ok());
  REQUIRE(zone.pack_at(1)->live == 1);
  require_sound(zone);
  REQUIRE(zone.drop_live(1, 1, 7).ok());
  REQUIRE_FALSE(zone.pack_at(1).has_value());
  REQUIRE(zone.counters().deferred == 3);
  REQUIRE(zone.oldest_deferred() == 7);
  REQUIRE(code_of(zone.drop_live(1, 1, 8)) == ErrorCode::kCorruption);
  require_sound(zone);
}

TEST_CASE("zone_state: a pack stripe that is freed as a whole is none any more") {
  ZoneState zone = empty_zone();
  REQUIRE(zone.replay_pack({1, 3}, 1, 10).ok());
  REQUIRE(zone.replay_pack({4, 2}, 2, 20).ok());
  REQUIRE(zone.publish_free({1, 3}, 3).ok());
  REQUIRE(zone.packs() == std::vector<PackStripe>{{{4, 2}, 20, 2, 0}});
  require_sound(zone);
}

// --- images ---

TEST_CASE("zone_state: an image does not say of what is very old how old it is") {
  ZoneState zone = empty_zone();
  const UnitRun old = zone.take(1);
  zone.publish_pack(old, 5, 100, 7);
  const UnitRun young = zone.take(1);
  const Lsn now = kMaxImageAge + 100;
  zone.publish_pack(young, now - 1, 100, 8);
  const UnitRun freed = live_run(zone, 1, 6);
  REQUIRE(zone.publish_free(freed, 50).ok());
  REQUIRE(zone.pack_at(old.unit)->born == 5);
  const ZoneImage image = zone.image(now, {}).value();
  REQUIRE(image.packs == std::vector<PackStripe>{{old, 100, 100, 7}, {young, 100, now - 1, 8}});
  REQUIRE(image.deferred == std::vector<DeferredFree>{{freed, 100, 0}});
  REQUIRE(decode_zone_image(as_bytes(encode_zone_image(image))).value() == image);
}

TEST_CASE("zone_state: the image has what lasts, and gives it back") {
  ZoneState zone = empty_zone();
  live_run(zone, 1, 1);
  const UnitRun pack = zone.take(2);
  zone.publish_pack(pack, 2, 50);
  const UnitRun freed = live_run(zone, 2, 3);
  REQUIRE(zone.mark_missing(freed, 2).ok());
  REQUIRE(zone.publish_free(freed, 4).ok());
  zone.take(2);  // in flight: a crash gives it back
  const ZoneImage image = zone.image(9, {}).value();
  REQUIRE(image.zone == 7);
  REQUIRE(image.lsn == 9);
  REQUIRE(image.slots == kSlots);
  REQUIRE(image.units == kUnits);
  REQUIRE(image.bitmap.size() == 1);
  REQUIRE((image.bitmap[0] & ((1 << kUnits) - 1)) == 0b111111);
  REQUIRE(image.deferred == std::vector<DeferredFree>{{freed, 4, 3}});
  REQUIRE(image.missing == std::vector<MissingRun>{{2, freed}});
  REQUIRE(image.packs == std::vector<PackStripe>{{pack, 50, 2, 0}});
  const ZoneState loaded = ZoneState::from_image(image).value();
  require_sound(loaded);
  REQUIRE(loaded.image(9, {}).value() == image);
  REQUIRE(loaded.counters() ==
          SpaceCounters{.total = 8, .free = 3, .live = 3, .deferred = 2, .missing = 2});
  // Not as of before something that it holds.
  REQUIRE(code_of(zone.image(3, {}).status()) == ErrorCode::kCorruption);
  REQUIRE(zone.image(4, {}).ok());
  REQUIRE(code_of(loaded.image(8, {}).status()) == ErrorCode::kCorruption);
}

TEST_CASE("zone_state: what a checkpoint gives up is deferred in its image alone") {
  ZoneState zone = empty_zone();
  const UnitRun old = live_run(zone, 2, 1);
  const UnitRun pack = zone.take(2);
  zone.publish_pack(pack, 2, 50);
  const std::vector<Extent> replaced = {{7, pack.unit, 2}, {7, old.unit, 2}, {8, 1, 1}};
  const ZoneImage image = zone.image(5, replaced).value();
  REQUIRE(image.deferred == std::vector<DeferredFree>{{old, 5}, {pack, 5}});
  REQUIRE(image.packs.empty());
  REQUIRE(zone.counters().live == 4);
  REQUIRE(ZoneState::from_image(image).value().counters().deferred == 4);
  const std::vector<Extent> twice = {{7, 1, 2}, {7, 2, 1}};
  REQUIRE(code_of(zone.image(5, twice).status()) == ErrorCode::kCorruption);
  const std::vector<Extent> not_live = {{7, 5, 1}};
  REQUIRE(code_of(zone.image(5, not_live).status()) == ErrorCode::kCorruption);
}

TEST_CASE("zone_state: an image that contradicts itself is refused") {
  ZoneState zone = empty_zone();
  live_run(zone, 2, 1);
  const UnitRun pack = zone.take(2);
  zone.publish_pack(pack, 2, 50);
  REQUIRE(zone.publish_free({1, 1}, 3).ok());
  REQUIRE(zone.mark_missing({2, 1}, 0).ok());
  const ZoneImage good = zone.image(3, {}).value();
  REQUIRE(ZoneState::from_image(good).ok());
  const auto refused = [&](const auto& change) {
    ZoneImage image = good;
    change(image);
    return code_of(ZoneState::from_image(image).status()) == ErrorCode::kCorruption;
  };
  REQUIRE(refused([](ZoneImage& image) { image.bitmap[0] &= ~std::uint64_t{1}; }));
  REQUIRE(refused([](ZoneImage& image) { image.bitmap.push_back(0); }));
  REQUIRE(refused([](ZoneImage& image) { image.bitmap.clear(); }));
  REQUIRE(refused([](ZoneImage& image) { image.deferred[0].run = {7, 1}; }));
  REQUIRE(refused([](ZoneImage& image) { image.deferred[0].run = {0, 1}; }));
  REQUIRE(refused([](ZoneImage& image) { image.deferred[0].freed = 4; }));
  REQUIRE(refused([](ZoneImage& image) { image.deferred.push_back(image.deferred[0]); }));
  REQUIRE(refused([](ZoneImage& image) { image.missing[0].slot = 3; }));
  REQUIRE(refused([](ZoneImage& image) { image.missing[0].run = {7, 1}; }));
  REQUIRE(refused([](ZoneImage& image) { image.missing[0].run = {2, 9}; }));
  REQUIRE(refused([](ZoneImage& image) { image.packs[0].run = {1, 1}; }));  // deferred
  REQUIRE(refused([](ZoneImage& image) { image.packs[0].run = {4, 2}; }));  // not all taken
  REQUIRE(refused([](ZoneImage& image) { image.packs.push_back({{4, 1}, 9}); }));
}

TEST_CASE("zone_state: a slot that is replaced is written with the next image") {
  ZoneState zone = empty_zone();
  zone.clear_dirty();
  zone.replace_slot(1, {9, 9});
  REQUIRE(zone.is_dirty());
  REQUIRE(zone.slots()[1] == ZoneSlot{9, 9});
  REQUIRE(zone.image(0, {}).value().slots == zone.slots());
}

TEST_CASE("zone_state: every change that an image would show makes the zone dirty") {
  const auto dirties = [](const auto& change) {
    ZoneState zone = empty_zone();
    live_run(zone, 2, 1);
    const UnitRun pack = zone.take(2);
    zone.publish_pack(pack, 2, 50);
    REQUIRE(zone.publish_free({1, 1}, 3).ok());
    zone.clear_dirty();
    change(zone);
    return zone.is_dirty();
  };
  REQUIRE_FALSE(dirties([](ZoneState& zone) { zone.discard(zone.take(1)); }));
  REQUIRE_FALSE(dirties([](ZoneState& zone) { zone.close(); }));
  REQUIRE_FALSE(dirties([](ZoneState& zone) { zone.reclaim(2); }));
  REQUIRE(dirties([](ZoneState& zone) { zone.reclaim(3); }));
  REQUIRE(dirties([](ZoneState& zone) { zone.publish_alloc(zone.take(1), 4); }));
  REQUIRE(dirties([](ZoneState& zone) { zone.publish_pack(zone.take(1), 4, 1); }));
  REQUIRE(dirties([](ZoneState& zone) { REQUIRE(zone.publish_free({2, 1}, 4).ok()); }));
  REQUIRE(dirties([](ZoneState& zone) { REQUIRE(zone.drop_live(3, 1, 4).ok()); }));
  REQUIRE(dirties([](ZoneState& zone) { REQUIRE(zone.mark_missing({2, 1}, 0).ok()); }));
  REQUIRE(dirties([](ZoneState& zone) { REQUIRE(zone.replay_alloc({8, 1}, 4).ok()); }));
}
