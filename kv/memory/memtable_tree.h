// Inside the memtable: entries, versions, the arena that holds them, and the B+tree that finds
// them.
//
// The tree only grows: entries never leave it one by one, so there is no merging of nodes, and
// rebuild() makes a new one after a cut. A node compares with one word per entry, the eight bytes
// behind the prefix that all its keys share; keys themselves are looked at only where words tie.
// With names that share long prefixes this costs about one cache miss per level.
//
//   T1  entries of a node are sorted by key; an inner node's entry i is the first one below child i
//   T2  words[i] = the 8 bytes of key i behind `common`, big-endian, padded with zeros
//   T3  all keys of a node begin with the same `common` bytes
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "kv/walk.h"

namespace hexad::kv {

struct MemtableVersion {
  MemtableVersion* older = nullptr;
  Lsn lsn = 0;
  const char* data = nullptr;
  std::uint64_t size = 0;
  bool tombstone = false;

  std::optional<std::string_view> value() const {
    return tombstone ? std::nullopt : std::optional(std::string_view(data, size));
  }
};

struct MemtableEntry {
  MemtableEntry* previous = nullptr;
  MemtableEntry* next = nullptr;
  MemtableVersion* newest = nullptr;
  const char* key_data = nullptr;
  std::uint64_t key_size = 0;

  std::string_view key() const { return {key_data, key_size}; }
};

// Memory that is given back all at once.
class MemtableArena {
 public:
  // Aligned to 8 bytes.
  char* allocate(std::uint64_t size);
  const char* copy(std::string_view bytes);
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::vector<std::unique_ptr<char[]>> chunks_;
  char* free_ = nullptr;
  std::uint64_t left_ = 0;
  std::uint64_t bytes_ = 0;
};

class MemtableTree {
 public:
  MemtableTree();
  ~MemtableTree();

  // The entry with exactly this key, or null.
  MemtableEntry* find(std::string_view key) const;
  // The first entry with a key >= `key`, or null.
  MemtableEntry* at_or_after(std::string_view key) const;
  // This entry, which is in the tree, and those behind it that way, at most `most` of them, as far
  // as one leaf has them; in ascending order either way. Valid until the tree changes. Cost: one
  // descent.
  std::span<MemtableEntry* const> run_from(const MemtableEntry& entry, Direction direction,
                                           std::size_t most) const;
  // The entry for `key`, made when missing; `created` says so. Without versions at first.
  MemtableEntry* find_or_add(std::string_view key, bool* created);
  MemtableEntry* first() const { return first_; }
  MemtableEntry* last() const { return last_; }

  // Takes entries without versions out of the list and builds the tree again.
  void rebuild();
  MemtableArena& arena() { return arena_; }
  std::uint64_t bytes() const;
  // T1-T3 and the list.
  void check_invariants() const;

 private:
  struct Node;
  struct Step {
    Node* node = nullptr;
    std::size_t at = 0;  // the child taken; in the leaf the place of the key
  };
  // The way from the root to a leaf. Fan-out at least 32 below the root: never this deep.
  struct Path {
    Step steps[16];
    std::size_t depth = 0;
    std::size_t smallest_depth = 0;  // inner nodes from the root on whose keys are all larger
  };
  enum class Bound { kLess, kLessOrEqual };
  static std::size_t count_below(const Node& node, std::string_view key, Bound bound);
  static void reword(Node& node);
  static void insert_at(Node& node, std::size_t at, MemtableEntry* entry, Node* child);
  static std::unique_ptr<Node> split(Node& node, std::size_t at);
  // The first entry >= key, and the way to its leaf.
  MemtableEntry* descend(std::string_view key, Path* path) const;
  void add(MemtableEntry* entry, Path& path);
  void check(const Node& node, std::size_t* count) const;

  MemtableArena arena_;
  std::unique_ptr<Node> root_;
  std::uint64_t nodes_ = 0;
  MemtableEntry* first_ = nullptr;
  MemtableEntry* last_ = nullptr;
};

}  // namespace hexad::kv
