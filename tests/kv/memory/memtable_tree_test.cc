// Versions and histories are memtable_test.cc's; here the tree alone.
#include "kv/memory/memtable_tree.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <new>

#include "io/rng.h"

namespace hexad::kv {
namespace {

// Keys that are hard for a node: long shared prefixes, ties in the eight bytes behind them, zeros
// at the end, the empty key.
std::string hard_key(io::Rng& rng) {
  static constexpr std::size_t kPrefixes[] = {0, 1, 7, 8, 9, 47, 48, 49, 60};
  std::string key(kPrefixes[rng.below(std::size(kPrefixes))], 'p');
  key += std::string(rng.below(12), '\0');
  key += std::string(rng.below(3), '\xff');
  for (std::uint64_t i = rng.below(4); i > 0; --i) key += static_cast<char>('a' + rng.below(3));
  return key;
}

using Model = std::map<std::string, MemtableEntry*>;

MemtableEntry* expected_after(const Model& model, const std::string& key) {
  const auto it = model.lower_bound(key);
  return it == model.end() ? nullptr : it->second;
}

void compare(const MemtableTree& tree, const Model& model, io::Rng& rng) {
  tree.check_invariants();
  MemtableEntry* entry = tree.first();
  for (const auto& [key, expected] : model) {
    REQUIRE(entry == expected);
    REQUIRE(entry->key() == key);
    entry = entry->next;
  }
  REQUIRE(entry == nullptr);
  REQUIRE(tree.last() == (model.empty() ? nullptr : model.rbegin()->second));
  for (int i = 0; i < 200; ++i) {
    const std::string probe = hard_key(rng);
    REQUIRE(tree.at_or_after(probe) == expected_after(model, probe));
    const auto there = model.find(probe);
    REQUIRE(tree.find(probe) == (there == model.end() ? nullptr : there->second));
  }
}

void give_version(MemtableTree& tree, MemtableEntry* entry) {
  entry->newest =
      new (tree.arena().allocate(sizeof(MemtableVersion))) MemtableVersion;  // of the arena
}

TEST_CASE("memtable_tree: random keys agree with a map, through splits and rebuilding") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    io::Rng rng(seed);
    MemtableTree tree;
    Model model;
    compare(tree, model, rng);
    for (int step = 1; step <= 3000; ++step) {
      const std::string key = hard_key(rng);
      bool created = false;
      MemtableEntry* const entry = tree.find_or_add(key, &created);
      REQUIRE(created == (model.count(key) == 0));
      REQUIRE((model.count(key) == 0 || model[key] == entry));
      REQUIRE(entry->key() == key);
      if (created) {
        model[key] = entry;
        REQUIRE(entry->newest == nullptr);
        give_version(tree, entry);
      }
      if (step % 600 == 0) compare(tree, model, rng);
      if (step % 1000 == 0) {
        for (auto it = model.begin(); it != model.end();) {
          if (!rng.chance(1, 3)) {
            ++it;
            continue;
          }
          it->second->newest = nullptr;
          it = model.erase(it);
        }
        tree.rebuild();
        compare(tree, model, rng);
      }
    }
  }
}

// Around the fan-out of 64 and its square: each order splits other nodes.
TEST_CASE("memtable_tree: every number of keys near a split, in every order, finds each of them") {
  for (const int order : {0, 1, 2}) {
    for (const int count : {1, 2, 63, 64, 65, 66, 127, 128, 129, 2047, 2048, 2049, 4096, 4160}) {
      CAPTURE(order, count);
      MemtableTree tree;
      const auto key_of = [](int n) { return "common prefix/" + std::to_string(100000 + n); };
      for (int i = 0; i < count; ++i) {
        const int n = order == 0 ? i : order == 1 ? count - 1 - i : i * 7919 % count;
        bool created = false;
        tree.find_or_add(key_of(n), &created);
        REQUIRE(created);
      }
      tree.check_invariants();
      for (int n = 0; n < count; ++n) {
        REQUIRE(tree.find(key_of(n)) != nullptr);
        const MemtableEntry* const after = tree.at_or_after(key_of(n) + '\0');
        REQUIRE((after == nullptr) == (n == count - 1));
        if (after != nullptr) REQUIRE(after->key() == key_of(n + 1));
      }
      REQUIRE(tree.first()->key() == key_of(0));
      REQUIRE(tree.last()->key() == key_of(count - 1));
    }
  }
}

TEST_CASE("memtable_tree: the empty tree and the empty key") {
  MemtableTree tree;
  REQUIRE(tree.first() == nullptr);
  REQUIRE(tree.last() == nullptr);
  REQUIRE(tree.find("") == nullptr);
  REQUIRE(tree.at_or_after("") == nullptr);
  tree.rebuild();
  bool created = false;
  MemtableEntry* const empty = tree.find_or_add("", &created);
  REQUIRE(created);
  tree.find_or_add(std::string(1, '\0'), &created);
  REQUIRE(created);
  REQUIRE(tree.find("") == empty);
  REQUIRE(empty->next->key() == std::string(1, '\0'));
  tree.check_invariants();
}

TEST_CASE("memtable_tree: rebuilding without versions leaves nothing, and the tree usable") {
  MemtableTree tree;
  bool created = false;
  for (int i = 0; i < 1000; ++i) tree.find_or_add(std::to_string(i), &created);
  tree.rebuild();
  tree.check_invariants();
  REQUIRE(tree.first() == nullptr);
  REQUIRE(tree.find("500") == nullptr);
  tree.find_or_add("500", &created);
  REQUIRE(created);
}

TEST_CASE("memtable_arena: pieces are aligned, apart, and counted by what was taken for them") {
  const std::uint64_t seed = 9;
  CAPTURE(seed);
  io::Rng rng(seed);
  MemtableArena arena;
  REQUIRE(arena.bytes() == 0);
  std::map<std::uintptr_t, std::uint64_t> pieces;
  std::uint64_t sum = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t size = rng.chance(1, 50) ? rng.below(400000) + 1 : rng.below(300) + 1;
    char* const piece = arena.allocate(size);
    std::fill_n(piece, size, static_cast<char>(i));
    const auto at = reinterpret_cast<std::uintptr_t>(piece);
    REQUIRE(at % 8 == 0);
    const auto behind = pieces.lower_bound(at);
    REQUIRE((behind == pieces.end() || at + size <= behind->first));
    REQUIRE(
        (behind == pieces.begin() || std::prev(behind)->first + std::prev(behind)->second <= at));
    pieces[at] = size;
    sum += size;
    REQUIRE(arena.bytes() >= sum);
  }
  REQUIRE(arena.bytes() < sum * 3 / 2 + (1 << 20));
  const std::string text("copied\0too", 10);
  const char* const copy = arena.copy(text);
  REQUIRE(std::string_view(copy, text.size()) == text);
  REQUIRE(copy != text.data());
}

}  // namespace
}  // namespace hexad::kv
