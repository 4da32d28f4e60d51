#include "kv/memory/memtable_tree.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/assert.h"

namespace hexad::kv {
namespace {

constexpr std::size_t kFanout = 64;
constexpr std::uint64_t kChunk = 256u << 10;  // bytes

std::size_t common_prefix(std::string_view a, std::string_view b) {
  const std::size_t limit = std::min(a.size(), b.size());
  return static_cast<std::size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(limit), b.begin()).first -
      a.begin());
}

std::uint64_t word_at(std::string_view key, std::size_t skip) {
  if (skip >= key.size()) return 0;
  std::uint64_t word = 0;
  std::memcpy(&word, key.data() + skip, std::min<std::size_t>(8, key.size() - skip));
  return __builtin_bswap64(word);
}

}  // namespace

char* MemtableArena::allocate(std::uint64_t size) {
  size = (size + 7) / 8 * 8;
  if (size > left_) {
    // A large value gets a chunk of its own and leaves the current one in use.
    const bool own = size > kChunk / 4;
    const std::uint64_t chunk = own ? size : kChunk;
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(chunk));
    bytes_ += chunk;
    if (own) return chunks_.back().get();
    free_ = chunks_.back().get();
    left_ = chunk;
  }
  char* const taken = free_;
  free_ += size;
  left_ -= size;
  return taken;
}

const char* MemtableArena::copy(std::string_view bytes) {
  char* const to = allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return to;
}

// One cache line says whether the key shares the node's prefix; eight more hold the words.
struct alignas(64) MemtableTree::Node {
  static constexpr std::size_t kPrefix = 48;

  std::uint32_t count = 0;
  bool leaf = true;
  std::uint64_t common = 0;  // bytes
  char prefix[kPrefix];      // the first of them, so that no key is looked at for short ones
  std::uint64_t words[kFanout];
  MemtableEntry* entries[kFanout];
  std::unique_ptr<Node> children[kFanout];

  // Where `key` stands to the prefix that all keys share: before, with (0) or behind them.
  int compare_prefix(std::string_view key) const {
    const std::size_t near = std::min<std::size_t>(common, kPrefix);
    const int order = key.substr(0, near).compare(std::string_view(prefix, near));
    if (order != 0 || common <= kPrefix) return order;
    return key.substr(0, common).compare(entries[0]->key().substr(0, common));
  }
  void prefetch() const {
    for (std::size_t i = 0; i < kFanout; i += 8) __builtin_prefetch(&words[i]);
  }
};

MemtableTree::MemtableTree() : root_(std::make_unique<Node>()), nodes_(1) {}
MemtableTree::~MemtableTree() = default;

std::uint64_t MemtableTree::bytes() const { return arena_.bytes() + nodes_ * sizeof(Node); }

// The number of entries of `node` with a key < `key`, or <= it.
std::size_t MemtableTree::count_below(const Node& node, std::string_view key, Bound bound) {
  if (node.count == 0) return 0;
  if (const int order = node.compare_prefix(key); order != 0) return order < 0 ? 0 : node.count;
  const std::uint64_t word = word_at(key, node.common);
  const std::uint64_t* const end = node.words + node.count;
  const std::uint64_t* const first = std::lower_bound(node.words, end, word);
  const std::uint64_t* last = first;
  while (last != end && *last == word) ++last;
  // Between them the words tie; only there the rest of the keys matters.
  MemtableEntry* const* const found = std::partition_point(
      node.entries + (first - node.words), node.entries + (last - node.words),
      [key, bound](const MemtableEntry* entry) {
        return bound == Bound::kLess ? entry->key() < key : entry->key() <= key;
      });
  return static_cast<std::size_t>(found - node.entries);
}

void MemtableTree::reword(Node& node) {
  const std::string_view first = node.entries[0]->key();
  node.common = common_prefix(first, node.entries[node.count - 1]->key());  // T3: sorted
  if (node.common > 0) {
    std::memcpy(node.prefix, first.data(), std::min<std::size_t>(node.common, Node::kPrefix));
  }
  for (std::size_t i = 0; i < node.count; ++i) {
    node.words[i] = word_at(node.entries[i]->key(), node.common);
  }
}

void MemtableTree::insert_at(Node& node, std::size_t at, MemtableEntry* entry, Node* child) {
  HEXAD_ASSERT(node.count < kFanout && at <= node.count);
  for (std::size_t i = node.count; i > at; --i) {
    node.words[i] = node.words[i - 1];
    node.entries[i] = node.entries[i - 1];
    if (!node.leaf) node.children[i] = std::move(node.children[i - 1]);
  }
  node.entries[at] = entry;
  if (!node.leaf) node.children[at].reset(child);
  ++node.count;
  // Between two others an entry shares what they share.
  const bool outermost = at == 0 || at + 1 == node.count;
  const std::string_view other = node.entries[at == 0 && node.count > 1 ? 1 : 0]->key();
  if (node.count == 1 || (outermost && common_prefix(entry->key(), other) < node.common)) {
    reword(node);
  } else {
    node.words[at] = word_at(entry->key(), node.common);
  }
}

// Moves the entries from `at` on into a new right neighbour.
std::unique_ptr<MemtableTree::Node> MemtableTree::split(Node& node, std::size_t at) {
  auto right = std::make_unique<Node>();
  right->leaf = node.leaf;
  for (std::size_t i = at; i < node.count; ++i) {
    right->entries[right->count] = node.entries[i];
    right->children[right->count] = std::move(node.children[i]);
    ++right->count;
  }
  node.count = static_cast<std::uint32_t>(at);
  reword(node);
  reword(*right);
  return right;
}

MemtableEntry* MemtableTree::descend(std::string_view key, Path* path) const {
  Node* node = root_.get();
  for (;;) {
    node->prefetch();
    std::size_t at = count_below(*node, key, node->leaf ? Bound::kLess : Bound::kLessOrEqual);
    if (node->leaf) {
      if (path != nullptr) path->steps[path->depth++] = {node, at};
      if (at < node->count) return node->entries[at];
      // Behind this leaf's last entry the list goes on.
      return node->count == 0 ? nullptr : node->entries[node->count - 1]->next;
    }
    // The last child that begins at or before the key.
    const bool smallest = at == 0;
    if (at > 0) --at;
    if (path != nullptr) {
      path->steps[path->depth++] = {node, at};
      if (smallest) path->smallest_depth = path->depth;
    }
    node = node->children[at].get();
  }
}

MemtableEntry* MemtableTree::at_or_after(std::string_view key) const {
  return descend(key, nullptr);
}

std::span<MemtableEntry* const> MemtableTree::run_from(const MemtableEntry& entry,
                                                       Direction direction,
                                                       std::size_t most) const {
  Path path;
  HEXAD_ASSERT(descend(entry.key(), &path) == &entry);
  const auto [leaf, at] = path.steps[path.depth - 1];
  const std::span<MemtableEntry* const> all(leaf->entries, leaf->count);
  if (direction == Direction::kForward) return all.subspan(at, std::min(most, all.size() - at));
  const std::size_t count = std::min(most, at + 1);
  return all.subspan(at + 1 - count, count);
}

MemtableEntry* MemtableTree::find(std::string_view key) const {
  MemtableEntry* const entry = at_or_after(key);
  return entry != nullptr && entry->key() == key ? entry : nullptr;
}

MemtableEntry* MemtableTree::find_or_add(std::string_view key, bool* created) {
  Path path;
  MemtableEntry* const after = descend(key, &path);
  *created = after == nullptr || after->key() != key;
  if (!*created) return after;
  auto* const entry = new (arena_.allocate(sizeof(MemtableEntry))) MemtableEntry;
  entry->key_data = arena_.copy(key);
  entry->key_size = key.size();
  entry->next = after;
  entry->previous = after == nullptr ? last_ : after->previous;
  (entry->previous == nullptr ? first_ : entry->previous->next) = entry;
  (after == nullptr ? last_ : after->previous) = entry;
  add(entry, path);
  return entry;
}

void MemtableTree::add(MemtableEntry* entry, Path& path) {
  // A new smallest key of the whole tree is the first one below every first child: T1.
  for (std::size_t i = 0; i < path.smallest_depth; ++i) {
    path.steps[i].node->entries[0] = entry;
    reword(*path.steps[i].node);
  }
  std::size_t depth = path.depth;
  Node* child = nullptr;  // to be inserted beside the level below
  for (;;) {
    const Step step = path.steps[--depth];
    std::size_t at = step.at;
    Node& target = *step.node;
    if (target.count < kFanout) {
      insert_at(target, at, entry, child);
      return;
    }
    // Keys that arrive in order leave full nodes behind, others half full ones.
    const std::size_t middle = at == target.count ? kFanout - 1 : kFanout / 2;
    std::unique_ptr<Node> right = split(target, middle);
    ++nodes_;
    if (at <= middle) {
      insert_at(target, at, entry, child);
    } else {
      insert_at(*right, at - middle, entry, child);
    }
    entry = right->entries[0];
    child = right.release();
    if (depth == 0) {
      auto root = std::make_unique<Node>();
      ++nodes_;
      root->leaf = false;
      MemtableEntry* const smallest = root_->entries[0];
      insert_at(*root, 0, smallest, root_.release());
      insert_at(*root, 1, entry, child);
      root_ = std::move(root);
      return;
    }
    path.steps[depth - 1].at += 1;  // right of the child that was split
  }
}

void MemtableTree::rebuild() {
  root_ = std::make_unique<Node>();
  nodes_ = 1;
  MemtableEntry* entry = first_;
  first_ = last_ = nullptr;
  while (entry != nullptr) {
    MemtableEntry* const next = entry->next;
    if (entry->newest != nullptr) {
      entry->previous = last_;
      entry->next = nullptr;
      (last_ == nullptr ? first_ : last_->next) = entry;
      last_ = entry;
      Path path;
      descend(entry->key(), &path);
      add(entry, path);
    }
    entry = next;
  }
}

void MemtableTree::check(const Node& node, std::size_t* count) const {
  for (std::size_t i = 0; i < node.count; ++i) {
    const std::string_view key = node.entries[i]->key();
    HEXAD_ASSERT(i == 0 || node.entries[i - 1]->key() < key);                 // T1
    HEXAD_ASSERT(node.words[i] == word_at(key, node.common));                 // T2
    HEXAD_ASSERT(common_prefix(key, node.entries[0]->key()) >= node.common);  // T3
    if (!node.leaf) {
      HEXAD_ASSERT(node.children[i]->entries[0] == node.entries[i]);  // T1
      check(*node.children[i], count);
    }
  }
  if (node.leaf) *count += node.count;
}

void MemtableTree::check_invariants() const {
  std::size_t in_tree = 0;
  check(*root_, &in_tree);
  std::size_t in_list = 0;
  const MemtableEntry* before = nullptr;
  for (const MemtableEntry* entry = first_; entry != nullptr; entry = entry->next) {
    HEXAD_ASSERT(entry->previous == before);
    HEXAD_ASSERT(before == nullptr || before->key() < entry->key());
    before = entry;
    ++in_list;
  }
  HEXAD_ASSERT(before == last_ && in_tree == in_list);
}

}  // namespace hexad::kv
