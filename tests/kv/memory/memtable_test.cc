#include "kv/memory/memtable.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "io/rng.h"

namespace hexad::kv {
namespace {

using Value = std::optional<std::string>;
// Key, then version by LSN.
using Model = std::map<std::string, std::map<Lsn, Value>>;

std::optional<std::string> owned(std::optional<std::string_view> view) {
  return view.has_value() ? std::optional(std::string(*view)) : std::nullopt;
}

// The newest version at or below `at` of each key that has one.
std::vector<std::pair<std::string, std::pair<Lsn, Value>>> visible(const Model& model, Lsn at) {
  std::vector<std::pair<std::string, std::pair<Lsn, Value>>> found;
  for (const auto& [key, versions] : model) {
    auto it = versions.upper_bound(at);
    if (it == versions.begin()) continue;
    --it;
    found.push_back({key, {it->first, it->second}});
  }
  return found;
}

void compare(const Memtable& table, const Model& model, Lsn at, io::Rng& rng) {
  table.check_invariants();
  const auto expected = visible(model, at);
  auto it = table.iterate(at);
  it.seek_to_first();
  for (const auto& [key, version] : expected) {
    REQUIRE(it.valid());
    REQUIRE(it.key() == key);
    REQUIRE(it.lsn() == version.first);
    REQUIRE(owned(it.value()) == version.second);
    it.next();
  }
  REQUIRE_FALSE(it.valid());
  it.seek_to_last();
  for (auto back = expected.rbegin(); back != expected.rend(); ++back) {
    REQUIRE(it.valid());
    REQUIRE(it.key() == back->first);
    it.prev();
  }
  REQUIRE_FALSE(it.valid());
  for (const bool forward : {true, false}) {  // many at a time, and now and then one
    std::vector<Memtable::Seen> seen(1 + rng.below(90));
    std::size_t passed = 0;
    for (forward ? it.seek_to_first() : it.seek_to_last(); it.valid();) {
      const std::size_t count = rng.chance(1, 9) ? 1 : 1 + rng.below(seen.size());
      const std::size_t noted = it.take(forward ? Direction::kForward : Direction::kBackward,
                                        std::span(seen).first(count));
      REQUIRE((noted > 0 && noted <= count && passed + noted <= expected.size()));
      for (std::size_t i = 0; i < noted; ++i, ++passed) {
        const auto& [key, version] = expected[forward ? passed : expected.size() - 1 - passed];
        REQUIRE(seen[i].key == key);
        REQUIRE(owned(seen[i].value) == version.second);
      }
      if (!it.valid()) break;
      REQUIRE(it.key() == expected[forward ? passed : expected.size() - 1 - passed].first);
    }
    REQUIRE(passed == expected.size());
  }
  for (int i = 0; i < 50; ++i) {
    std::string probe = expected.empty() ? "x" : expected[rng.below(expected.size())].first;
    if (!probe.empty() && rng.chance(1, 2)) probe.back() = static_cast<char>(rng.next());
    const auto after = std::find_if(expected.begin(), expected.end(),
                                    [&](const auto& entry) { return entry.first >= probe; });
    it.seek(probe);
    REQUIRE(it.valid() == (after != expected.end()));
    if (it.valid()) REQUIRE(it.key() == after->first);
    it.seek_before(probe);
    REQUIRE(it.valid() == (after != expected.begin()));
    if (it.valid()) REQUIRE(it.key() == std::prev(after)->first);
    const auto found = table.get(probe, at);
    const bool there = after != expected.end() && after->first == probe;
    REQUIRE(found.has_value() == there);
    if (there) {
      REQUIRE(found->lsn == after->second.first);
      REQUIRE(owned(found->value) == after->second.second);
    }
  }
}

std::string random_key(io::Rng& rng, int shape) {
  switch (shape) {
    case 0:  // numbers behind a long common prefix
      return "collection/with/a/long/name/" + std::to_string(rng.below(3000));
    case 1: {  // few letters, all lengths, with zeros and ones at every place
      std::string key(rng.below(12), '\0');
      for (char& c : key) c = static_cast<char>(rng.below(2) == 0 ? 0 : 0xff);
      return key;
    }
    default: {
      std::string key(1 + rng.below(40), 'a');
      for (char& c : key) c = static_cast<char>(rng.next());
      return key;
    }
  }
}

TEST_CASE("memtable: random histories agree with nested maps") {
  for (std::uint64_t seed = 1; seed <= 9; ++seed) {
    CAPTURE(seed);
    io::Rng rng(seed);
    Memtable table;
    Model model;
    Lsn lsn = 0;
    for (int step = 0; step < 6000; ++step) {
      if (!rng.chance(1, 4)) ++lsn;
      if (lsn == 0) continue;
      const std::string key = random_key(rng, static_cast<int>(seed % 3));
      Value value;
      if (!rng.chance(1, 5)) value = std::string(rng.below(60), static_cast<char>(rng.next()));
      // Now and then a version that comes late.
      const Lsn at = rng.chance(1, 20) ? Lsn{1 + rng.below(lsn)} : lsn;
      table.apply(at, key, value);
      model[key][at] = value;
      if (step % 1500 == 1499) {
        compare(table, model, kMaxLsn, rng);
        compare(table, model, rng.below(lsn + 1), rng);
      }
      if (step % 2500 == 2499) {
        const Lsn cut = lsn - rng.below(lsn / 3 + 1);
        table.erase_after(cut);
        for (auto it = model.begin(); it != model.end();) {
          it->second.erase(it->second.upper_bound(cut), it->second.end());
          it = it->second.empty() ? model.erase(it) : std::next(it);
        }
        lsn = cut;
        compare(table, model, kMaxLsn, rng);
        std::uint64_t versions = 0;
        for (const auto& [name, all] : model) versions += all.size();
        REQUIRE(table.keys() == model.size());
        REQUIRE(table.versions() == versions);
      }
    }
  }
}

TEST_CASE("memtable: an iterator turns round anywhere while others insert") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    io::Rng rng(seed);
    Memtable table;
    Model model;
    const auto apply = [&](Lsn lsn) {
      const std::string key = random_key(rng, static_cast<int>(seed % 3));
      const Value value = rng.chance(1, 4) ? Value() : Value("value");
      table.apply(lsn, key, value);
      model[key][lsn] = value;
    };
    for (Lsn lsn = 1; lsn <= 400; ++lsn) apply(lsn);
    const auto expected = visible(model, 400);
    auto it = table.iterate(400);
    auto at = expected.end();
    for (int step = 0; step < 3000; ++step) {
      if (rng.chance(1, 4)) apply(401 + static_cast<Lsn>(step));
      const std::uint64_t choice = rng.below(at == expected.end() ? 2 : 20);
      if (choice < 2) {
        const std::string probe = random_key(rng, static_cast<int>(seed % 3));
        at = std::find_if(expected.begin(), expected.end(),
                          [&](const auto& entry) { return entry.first >= probe; });
        if (choice == 0) {
          it.seek(probe);
        } else {
          it.seek_before(probe);
          at = at == expected.begin() ? expected.end() : std::prev(at);
        }
      } else if (choice < 11) {
        it.next();
        ++at;
      } else {
        it.prev();
        at = at == expected.begin() ? expected.end() : std::prev(at);
      }
      REQUIRE(it.valid() == (at != expected.end()));
      if (!it.valid()) continue;
      REQUIRE(it.key() == at->first);
      REQUIRE(it.lsn() == at->second.first);
      REQUIRE(owned(it.value()) == at->second.second);
    }
  }
}

TEST_CASE("memtable: keys in order, in reverse and shuffled give the same table") {
  for (int order = 0; order < 3; ++order) {
    Memtable table;
    constexpr int kCount = 20000;
    for (int i = 0; i < kCount; ++i) {
      const int n = order == 0 ? i : order == 1 ? kCount - 1 - i : i * 7919 % kCount;
      char key[16];
      std::snprintf(key, sizeof(key), "key%08d", n);
      table.apply(static_cast<Lsn>(i + 1), key, "v");
    }
    table.check_invariants();
    REQUIRE(table.keys() == kCount);
    auto it = table.iterate();
    it.seek("key00010000");
    REQUIRE(it.key() == "key00010000");
    it.prev();
    REQUIRE(it.key() == "key00009999");
  }
}

TEST_CASE("memtable: older versions stay readable at their LSN and through the iterator") {
  Memtable table;
  table.apply(3, "k", "three");
  table.apply(5, "k", std::nullopt);
  table.apply(9, "k", "nine");
  REQUIRE_FALSE(table.get("k", 2).has_value());
  REQUIRE(table.get("k", 4)->value == "three");
  REQUIRE(table.get("k", 5)->lsn == 5);
  REQUIRE_FALSE(table.get("k", 8)->value.has_value());
  REQUIRE(table.get("k")->value == "nine");
  auto it = table.iterate();
  it.seek_to_first();
  REQUIRE(it.lsn() == 9);
  REQUIRE(it.older());
  REQUIRE(it.lsn() == 5);
  REQUIRE(it.older());
  REQUIRE(it.lsn() == 3);
  REQUIRE_FALSE(it.older());
  REQUIRE(it.lsn() == 3);
}

TEST_CASE("memtable: empty keys and values, large values, and memory that is counted") {
  Memtable table;
  REQUIRE(table.empty());
  const std::uint64_t before = table.bytes();
  table.apply(1, "", "");
  REQUIRE(table.get("")->value == "");
  table.apply(2, "big", std::string(3 << 20, 'x'));
  REQUIRE(table.bytes() >= before + (3 << 20));
  REQUIRE(table.bytes() < before + (4 << 20));
  REQUIRE(table.max_lsn() == 2);
  table.erase_after(0);
  REQUIRE(table.empty());
  REQUIRE(table.max_lsn() == 0);
  REQUIRE_FALSE(table.get("big").has_value());
}

}  // namespace
}  // namespace hexad::kv
