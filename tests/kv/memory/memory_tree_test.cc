#include "kv/memory/memory_tree.h"

#include <catch2/catch.hpp>
#include <map>
#include <optional>

#include "io/rng.h"

namespace hexad::kv {
namespace {

using Model = std::map<std::string, std::string>;
using Batch = std::map<std::string, std::optional<std::string>>;

MemoryTree with(const MemoryTree& tree, const Batch& batch) {
  std::vector<IndexChange> changes;
  for (const auto& [key, value] : batch) {
    changes.push_back(
        {key, value.has_value() ? std::optional<std::string_view>(*value) : std::nullopt});
  }
  return tree.with(changes);
}

void update(Model& model, const Batch& batch) {
  for (const auto& [key, value] : batch) {
    if (value.has_value()) {
      model[key] = *value;
    } else {
      model.erase(key);
    }
  }
}

Model all(const MemoryTree& tree) {
  Model found;
  MemoryTree::Cursor cursor(tree);
  for (cursor.seek_to_first(); cursor.valid(); cursor.next()) {
    found.emplace(cursor.entry().key, cursor.entry().value);
  }
  return found;
}

std::string key_of(std::uint64_t number) {
  std::string key = "0000000" + std::to_string(number);
  return key.substr(key.size() - 7);
}

TEST_CASE("memory_tree: an empty one has nothing anywhere") {
  const MemoryTree tree;
  tree.check_invariants();
  REQUIRE(tree.find("a") == nullptr);
  MemoryTree::Cursor cursor(tree);
  cursor.seek_to_first();
  REQUIRE_FALSE(cursor.valid());
  cursor.seek_to_last();
  REQUIRE_FALSE(cursor.valid());
  cursor.seek("");
  REQUIRE_FALSE(cursor.valid());
  cursor.seek_before("a");
  REQUIRE_FALSE(cursor.valid());
  const MemoryTree same = with(tree, {{"a", std::nullopt}});
  same.check_invariants();
  REQUIRE(same.entries() == 0);
}

TEST_CASE("memory_tree: every state stays as it was, whatever comes after it") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    io::Rng rng(seed);
    std::vector<std::pair<MemoryTree, Model>> states(1);
    for (int step = 0; step < 60; ++step) {
      // Now and then from an older state: states branch.
      const std::size_t from = rng.chance(1, 8) ? rng.below(states.size()) : states.size() - 1;
      const std::uint64_t span = 1 + rng.below(5000);
      const std::uint64_t first = rng.below(5000);
      const bool removing = rng.chance(1, 3);
      Batch batch;
      for (std::uint64_t i = rng.below(rng.chance(1, 4) ? 2000 : 20); i > 0; --i) {
        std::optional<std::string>& value = batch[key_of(first + rng.below(span))];
        if (!removing && !rng.chance(1, 5)) value = std::string(rng.below(40), 'v');
      }
      Model model = states[from].second;
      update(model, batch);
      states.emplace_back(with(states[from].first, batch), std::move(model));
      states.back().first.check_invariants();
    }
    for (const auto& [tree, model] : states) {
      tree.check_invariants();
      REQUIRE(tree.entries() == model.size());
      REQUIRE(all(tree) == model);
      for (int i = 0; i < 200; ++i) {
        const std::string key = key_of(rng.below(11000));
        const MemoryEntry* found = tree.find(key);
        REQUIRE((found != nullptr) == (model.count(key) > 0));
        if (found != nullptr) REQUIRE(found->value == model.at(key));
        MemoryTree::Cursor cursor(tree);
        const auto at = model.lower_bound(key);
        cursor.seek(key);
        REQUIRE(cursor.valid() == (at != model.end()));
        if (cursor.valid()) REQUIRE(cursor.entry().key == at->first);
        cursor.seek_before(key);
        REQUIRE(cursor.valid() == (at != model.begin()));
        if (cursor.valid()) REQUIRE(cursor.entry().key == std::prev(at)->first);
      }
    }
  }
}

TEST_CASE("memory_tree: one by one from either end, up to three levels and back to nothing") {
  for (const bool ascending : {true, false}) {
    CAPTURE(ascending);
    constexpr std::uint64_t kCount = 6000;
    MemoryTree tree;
    for (std::uint64_t i = 0; i < kCount; ++i) {
      tree = with(tree, {{key_of(ascending ? i : kCount - 1 - i), "v"}});
      if (i % 500 == 0) tree.check_invariants();
    }
    tree.check_invariants();
    REQUIRE(tree.entries() == kCount);
    for (std::uint64_t i = 0; i < kCount; ++i) {
      tree = with(tree, {{key_of(ascending ? i : kCount - 1 - i), std::nullopt}});
      if (i % 500 == 0) tree.check_invariants();
    }
    tree.check_invariants();
    REQUIRE(tree.entries() == 0);
    REQUIRE(tree.bytes() == 0);
  }
}

TEST_CASE("memory_tree: what is left of many entries does not keep many nodes") {
  Batch batch;
  for (std::uint64_t i = 0; i < 50000; ++i) batch[key_of(i)] = "v";
  MemoryTree tree = with({}, batch);
  tree.check_invariants();
  // One of a hundred stays: leaves of one entry each would break MT3.
  for (auto& [key, value] : batch) value.reset();
  for (std::uint64_t i = 0; i < 50000; i += 100) batch.erase(key_of(i));
  tree = with(tree, batch);
  tree.check_invariants();
  REQUIRE(tree.entries() == 500);
}

TEST_CASE("memory_tree: states share the entries that are the same in both") {
  Batch batch;
  for (std::uint64_t i = 0; i < 1000; ++i) batch[key_of(i)] = std::string(1000, 'v');
  const MemoryTree before = with({}, batch);
  const MemoryTree after = with(before, {{key_of(500), "new"}});
  REQUIRE(before.find(key_of(500))->value.size() == 1000);
  REQUIRE(after.find(key_of(500))->value == "new");
  for (std::uint64_t i = 0; i < 1000; ++i) {
    if (i != 500) REQUIRE(before.find(key_of(i)) == after.find(key_of(i)));
  }
}

}  // namespace
}  // namespace hexad::kv
