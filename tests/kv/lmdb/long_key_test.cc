#include "kv/lmdb/long_key.h"

#include <catch2/catch.hpp>
#include <map>

#include "io/rng.h"
#include "tests/kv/adversarial_keys.h"
#include "tests/kv/map_store.h"

namespace hexad::kv {
namespace {

using testing::MapStore;
using Model = std::map<std::string, std::string>;

void compare(MapStore& store, const Model& model, io::Rng& rng) {
  LongCursor cursor(store);
  REQUIRE(cursor.seek_to_first().ok());
  for (const auto& [key, value] : model) {
    REQUIRE(cursor.valid());
    REQUIRE(cursor.key() == key);
    REQUIRE(cursor.value() == value);
    REQUIRE(cursor.next().ok());
  }
  REQUIRE_FALSE(cursor.valid());
  REQUIRE(cursor.seek_to_last().ok());
  for (auto it = model.rbegin(); it != model.rend(); ++it) {
    REQUIRE(cursor.valid());
    REQUIRE(cursor.key() == it->first);
    REQUIRE(cursor.prev().ok());
  }
  REQUIRE_FALSE(cursor.valid());
  for (int i = 0; i < 40; ++i) {
    const std::string probe = testing::adversarial_key(rng);
    const auto after = model.lower_bound(probe);
    REQUIRE(cursor.seek(probe).ok());
    REQUIRE(cursor.valid() == (after != model.end()));
    if (cursor.valid()) {
      REQUIRE(cursor.key() == after->first);
      // Turning round in the middle of a segment.
      REQUIRE(cursor.prev().ok());
      REQUIRE(cursor.valid() == (after != model.begin()));
    }
    REQUIRE(cursor.seek_before(probe).ok());
    REQUIRE(cursor.valid() == (after != model.begin()));
    if (cursor.valid()) REQUIRE(cursor.key() == std::prev(after)->first);
    const auto found = long_get(store, probe);
    REQUIRE(found.ok());
    const auto exact = model.find(probe);
    REQUIRE(found->has_value() == (exact != model.end()));
    if (exact != model.end()) REQUIRE(**found == exact->second);
  }
}

TEST_CASE("long_key: adversarial keys behave as in a map") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    io::Rng rng(seed);
    MapStore store;
    Model model;
    for (int step = 0; step < 3000; ++step) {
      const std::string key = testing::adversarial_key(rng);
      if (rng.chance(2, 5)) {
        REQUIRE(long_erase(store, key).ok());
        model.erase(key);
      } else {
        const std::string value(rng.below(20), static_cast<char>(rng.next()));
        REQUIRE(long_put(store, key, value).ok());
        model[key] = value;
      }
      if (step % 500 == 499) compare(store, model, rng);
    }
    for (const auto& [key, value] : model) REQUIRE(long_erase(store, key).ok());
    REQUIRE(store.top.empty());  // LK2: no marker is left behind
    REQUIRE(store.segments.empty());
  }
}

TEST_CASE("long_key: names that share a long prefix are listed page by page in O(page)") {
  MapStore store;
  const std::string prefix(600, 'p');
  for (int i = 0; i < 100000; ++i) {
    char number[16];
    std::snprintf(number, sizeof(number), "%06d", i);
    REQUIRE(long_put(store, prefix + number, "v").ok());
  }
  REQUIRE(store.top.size() == 1);
  std::string from;
  int listed = 0;
  while (true) {
    store.steps = 0;
    LongCursor cursor(store);
    REQUIRE(cursor.seek(from).ok());
    int page = 0;
    for (; cursor.valid() && page < 1000; ++page) {
      from = std::string(cursor.key()) + '\0';
      REQUIRE(cursor.next().ok());
    }
    REQUIRE(store.steps <= 1010);
    listed += page;
    if (page < 1000) break;
  }
  REQUIRE(listed == 100000);
}

TEST_CASE("long_key: damaged entries are found, in values, markers and segments") {
  const std::string key(1000, 'k');
  const auto damaged = [&](auto damage) {
    MapStore store;
    REQUIRE(long_put(store, key, "value").ok());
    REQUIRE(long_put(store, "short", "value").ok());
    damage(store);
    const auto found = long_get(store, key);
    LongCursor cursor(store);
    const Status walked = cursor.seek_to_first();
    return !found.ok() && found.error().code == ErrorCode::kCorruption && !walked.ok();
  };
  REQUIRE_FALSE(damaged([](MapStore&) {}));
  REQUIRE(damaged([](MapStore& store) { store.segments.rbegin()->second.back() ^= 1; }));
  REQUIRE(damaged([](MapStore& store) { store.top.begin()->second.back() ^= 1; }));
  REQUIRE(damaged([](MapStore& store) { store.top.begin()->second.clear(); }));
  // A whole entry under another key.
  MapStore store;
  REQUIRE(long_put(store, "a", "1").ok());
  REQUIRE(long_put(store, "b", "2").ok());
  std::swap(store.top["a"], store.top["b"]);
  REQUIRE_FALSE(long_get(store, "a").ok());
  // Every bit of every entry.
  for (auto& [name, value] : store.top) {
    for (std::size_t bit = 0; bit < value.size() * 8; ++bit) {
      value[bit / 8] ^= static_cast<char>(1 << bit % 8);
      REQUIRE_FALSE(long_get(store, name).ok());
      value[bit / 8] ^= static_cast<char>(1 << bit % 8);
    }
  }
}

TEST_CASE("long_key: many values are decoded as far as they are sound") {
  constexpr std::size_t kCount = 10;
  MapStore store;
  for (std::size_t i = 0; i < kCount; ++i) {
    REQUIRE(long_put(store, "key" + std::to_string(i), std::string(i * 40, 'v')).ok());
  }
  // In order, until one is unlike the others: at `bad`, if there is such a place.
  const auto require_sound = [&](std::size_t bad) {
    CAPTURE(bad);
    std::vector<KeyValue> entries;
    for (const auto& [key, stored] : store.top) entries.push_back({key, stored});
    const std::size_t sound = decode_long_values(entries);
    REQUIRE(sound == std::min(bad, entries.size()));
    for (std::size_t i = 0; i < sound; ++i) {
      REQUIRE(entries[i].value == std::string(i * 40, 'v'));
    }
  };
  require_sound(kCount);
  for (std::size_t bad = 0; bad < kCount; ++bad) {
    const auto place = std::next(store.top.begin(), static_cast<std::ptrdiff_t>(bad));
    const std::string whole = place->second;
    for (const std::size_t at : {std::size_t{0}, std::size_t{4}, whole.size() - 1}) {
      place->second[at] ^= 1;
      require_sound(bad);
      place->second = whole;
    }
    place->second.resize(4);
    require_sound(bad);
    place->second = whole;
  }
  // The marker of a long key.
  REQUIRE(long_put(store, std::string(500, 'k'), "v").ok());
  require_sound(kCount);
}

TEST_CASE("long_key: a marker without its segment is damage for walkers") {
  MapStore store;
  REQUIRE(long_put(store, std::string(481, 'k'), "v").ok());
  store.segments.clear();
  LongCursor cursor(store);
  REQUIRE(cursor.seek_to_first().error().code == ErrorCode::kCorruption);
  REQUIRE(cursor.seek_to_last().error().code == ErrorCode::kCorruption);
}

}  // namespace
}  // namespace hexad::kv
