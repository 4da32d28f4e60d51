// An ordered map from key to value that never changes: with() gives another one, which shares with
// the first all that is the same in both. So a state is kept by keeping the tree, for as long as
// somebody looks at it, and costs what has changed since.
//
// A B+tree whose leaves all have the same depth. Nodes and entries are counted references.
//
//   MT1 a node has 1 to kMemoryFanOut places, sorted by key
//   MT2 entry i of an inner node is the first entry below its child i
//   MT3 two neighbours of one parent have more than kMemoryFanOut / 2 places together
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kv/index.h"

namespace hexad::kv {

inline constexpr std::size_t kMemoryFanOut = 64;

struct MemoryEntry {
  std::string key;
  std::string value;
};

// A value: copying it is copying one pointer. Any number of threads may read one.
class MemoryTree {
 private:
  struct Node;

 public:
  std::uint64_t entries() const { return entries_; }
  // Memory of the entries, about: keys, values, and what holds them.
  std::uint64_t bytes() const { return bytes_; }

  // The map with these changes, which are sorted by key, none twice. Cost per change: one descent
  // and one copy of the leaf's references, which neighbouring changes share.
  MemoryTree with(std::span<const IndexChange> changes) const;

  // The entry with exactly this key, or null; lives as long as a tree that has it.
  const MemoryEntry* find(std::string_view key) const;

  // Walks the entries; the tree outlives it. Cost: a seek is one descent, a step one place.
  class Cursor {
   public:
    explicit Cursor(const MemoryTree& tree) : tree_(tree) {}
    void seek(std::string_view key);         // the first key >= `key`
    void seek_before(std::string_view key);  // the last key < `key`
    void seek_to_first();
    void seek_to_last();
    // Preconditions: valid().
    void next();
    void prev();
    const MemoryEntry& entry() const;
    bool valid() const { return !path_.empty(); }

   private:
    struct Step {
      const Node* node = nullptr;
      std::size_t at = 0;
    };
    void descend_first(const Node* node);
    void descend_last(const Node* node);

    const MemoryTree& tree_;
    std::vector<Step> path_;  // from the root to a leaf; empty: not valid
  };

  // MT1 to MT3 and the sums. Cost: everything.
  void check_invariants() const;

 private:
  using EntryRef = std::shared_ptr<const MemoryEntry>;
  using NodeRef = std::shared_ptr<const Node>;
  class Change;

  struct Sums {
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;
  };
  static std::uint64_t bytes_of(const MemoryEntry& entry);
  static const EntryRef& first_of(const Node& node);
  static void check(const Node& node, std::size_t depth, Sums& sums);

  NodeRef root_;           // null: empty
  std::size_t depth_ = 0;  // of the leaves below the root
  std::uint64_t entries_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace hexad::kv
