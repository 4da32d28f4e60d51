#include "kv/memory/memory_tree.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace hexad::kv {

struct MemoryTree::Node {
  std::vector<EntryRef> entries;  // of a leaf: its own; else the first one below each child
  std::vector<NodeRef> children;  // none: this is a leaf

  bool leaf() const { return children.empty(); }
  std::size_t places() const { return entries.size(); }
  // The place of the first entry >= `key`; places() when there is none.
  std::size_t at_or_after(std::string_view key) const {
    const auto found = std::lower_bound(
        entries.begin(), entries.end(), key,
        [](const EntryRef& entry, std::string_view wanted) { return entry->key < wanted; });
    return static_cast<std::size_t>(found - entries.begin());
  }
  // Of an inner node: the child below which `key` is, or would be.
  std::size_t child_of(std::string_view key) const {
    const std::size_t after = at_or_after(key);
    if (after < places() && entries[after]->key == key) return after;
    return after == 0 ? 0 : after - 1;
  }
};

// Builds the nodes of one level that take the place of an old one.
class MemoryTree::Change {
 public:
  explicit Change(MemoryTree& tree) : tree_(tree) {}

  // Appends to `level` what `node` (null: nothing) becomes: nodes of its depth, of which any two
  // neighbours fulfil MT3.
  void replace(const Node* node, std::span<const IndexChange> changes,
               std::vector<NodeRef>& level) {
    Node grown;
    if (node == nullptr || node->leaf()) {
      merge(node, changes, grown);
    } else {
      std::vector<NodeRef> children;
      for (std::size_t i = 0; i < node->places(); ++i) {
        // What lies before the first entry of all goes to the first child.
        auto end = changes.end();
        if (i + 1 < node->places()) {
          end = std::lower_bound(
              changes.begin(), changes.end(), node->entries[i + 1]->key,
              [](const IndexChange& change, const std::string& key) { return change.key < key; });
        }
        const auto count = static_cast<std::size_t>(end - changes.begin());
        if (count == 0) {
          append(node->children[i], children);
        } else {
          std::vector<NodeRef> pieces;
          replace(node->children[i].get(), changes.first(count), pieces);
          for (NodeRef& piece : pieces) append(std::move(piece), children);
          changes = changes.subspan(count);
        }
      }
      grown = over(std::move(children));
    }
    cut(std::move(grown), level);
  }

  static Node over(std::vector<NodeRef> children) {
    Node node;
    node.children = std::move(children);
    for (const NodeRef& child : node.children) node.entries.push_back(first_of(*child));
    return node;
  }

  // Into nodes of at most kMemoryFanOut places, of about the same size.
  static void cut(Node node, std::vector<NodeRef>& level) {
    const std::size_t places = node.places();
    const std::size_t count = (places + kMemoryFanOut - 1) / kMemoryFanOut;
    if (count == 1) {
      // There may have been room for many changes that removed what was not there.
      node.entries.shrink_to_fit();
      node.children.shrink_to_fit();
      level.push_back(std::make_shared<const Node>(std::move(node)));
      return;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const auto begin = static_cast<std::ptrdiff_t>(places * i / count);
      const auto end = static_cast<std::ptrdiff_t>(places * (i + 1) / count);
      Node piece;
      piece.entries.assign(node.entries.begin() + begin, node.entries.begin() + end);
      if (!node.leaf()) {
        piece.children.assign(node.children.begin() + begin, node.children.begin() + end);
      }
      level.push_back(std::make_shared<const Node>(std::move(piece)));
    }
  }

 private:
  void merge(const Node* leaf, std::span<const IndexChange> changes, Node& merged) {
    static const std::vector<EntryRef> none;
    const std::vector<EntryRef>& old = leaf == nullptr ? none : leaf->entries;
    merged.entries.reserve(old.size() + changes.size());
    auto at = old.begin();
    for (const IndexChange& change : changes) {
      while (at != old.end() && (*at)->key < change.key) merged.entries.push_back(*at++);
      if (at != old.end() && (*at)->key == change.key) {
        --tree_.entries_;
        tree_.bytes_ -= bytes_of(**at);
        ++at;
      }
      if (!change.value.has_value()) continue;
      merged.entries.push_back(std::make_shared<const MemoryEntry>(
          MemoryEntry{std::string(change.key), std::string(*change.value)}));
      ++tree_.entries_;
      tree_.bytes_ += bytes_of(*merged.entries.back());
    }
    merged.entries.insert(merged.entries.end(), at, old.end());
  }

  // MT3: joins it with the last one where they are small. Old neighbours never are.
  static void append(NodeRef node, std::vector<NodeRef>& children) {
    if (children.empty() || children.back()->places() + node->places() > kMemoryFanOut / 2) {
      children.push_back(std::move(node));
      return;
    }
    Node joined = *children.back();
    joined.entries.insert(joined.entries.end(), node->entries.begin(), node->entries.end());
    joined.children.insert(joined.children.end(), node->children.begin(), node->children.end());
    children.back() = std::make_shared<const Node>(std::move(joined));
  }

  MemoryTree& tree_;
};

std::uint64_t MemoryTree::bytes_of(const MemoryEntry& entry) {
  // The entry, its count of references, and its place in a leaf that is three quarters full.
  constexpr std::uint64_t kOverhead = sizeof(MemoryEntry) + 16 + 2 * sizeof(EntryRef);
  return entry.key.size() + entry.value.size() + kOverhead;
}

const MemoryTree::EntryRef& MemoryTree::first_of(const Node& node) { return node.entries.front(); }

MemoryTree MemoryTree::with(std::span<const IndexChange> changes) const {
  if (changes.empty()) return *this;
  MemoryTree tree = *this;
  std::vector<NodeRef> level;
  Change(tree).replace(root_.get(), changes, level);
  while (level.size() > 1) {
    std::vector<NodeRef> above;
    Change::cut(Change::over(std::move(level)), above);
    level = std::move(above);
    ++tree.depth_;
  }
  tree.root_ = level.empty() ? nullptr : std::move(level.front());
  if (tree.root_ == nullptr) tree.depth_ = 0;
  while (tree.root_ != nullptr && tree.root_->children.size() == 1) {
    tree.root_ = NodeRef(tree.root_->children.front());
    --tree.depth_;
  }
  return tree;
}

const MemoryEntry* MemoryTree::find(std::string_view key) const {
  const Node* node = root_.get();
  if (node == nullptr) return nullptr;
  while (!node->leaf()) node = node->children[node->child_of(key)].get();
  const std::size_t at = node->at_or_after(key);
  if (at == node->places() || node->entries[at]->key != key) return nullptr;
  return node->entries[at].get();
}

// --- walking -------------------------------------------------------------------------------------

void MemoryTree::Cursor::descend_first(const Node* node) {
  for (; node != nullptr; node = node->leaf() ? nullptr : node->children.front().get()) {
    path_.push_back({node, 0});
  }
}

void MemoryTree::Cursor::descend_last(const Node* node) {
  for (; node != nullptr; node = node->leaf() ? nullptr : node->children.back().get()) {
    path_.push_back({node, node->places() - 1});
  }
}

void MemoryTree::Cursor::seek(std::string_view key) {
  path_.clear();
  const Node* node = tree_.root_.get();
  if (node == nullptr) return;
  for (; !node->leaf(); node = node->children[path_.back().at].get()) {
    path_.push_back({node, node->child_of(key)});
  }
  const std::size_t at = node->at_or_after(key);
  if (at < node->places()) {
    path_.push_back({node, at});
    return;
  }
  // All of the leaf is before it: the next leaf begins behind it.
  path_.push_back({node, at - 1});
  next();
}

void MemoryTree::Cursor::seek_before(std::string_view key) {
  seek(key);
  if (valid()) {
    prev();
  } else {
    seek_to_last();
  }
}

void MemoryTree::Cursor::seek_to_first() {
  path_.clear();
  descend_first(tree_.root_.get());
}

void MemoryTree::Cursor::seek_to_last() {
  path_.clear();
  descend_last(tree_.root_.get());
}

void MemoryTree::Cursor::next() {
  HEXAD_ASSERT(valid());
  for (; !path_.empty(); path_.pop_back()) {
    Step& step = path_.back();
    if (step.at + 1 == step.node->places()) continue;
    ++step.at;
    if (!step.node->leaf()) descend_first(step.node->children[step.at].get());
    return;
  }
}

void MemoryTree::Cursor::prev() {
  HEXAD_ASSERT(valid());
  for (; !path_.empty(); path_.pop_back()) {
    Step& step = path_.back();
    if (step.at == 0) continue;
    --step.at;
    if (!step.node->leaf()) descend_last(step.node->children[step.at].get());
    return;
  }
}

const MemoryEntry& MemoryTree::Cursor::entry() const {
  HEXAD_ASSERT(valid());
  return *path_.back().node->entries[path_.back().at];
}

// --- checking ------------------------------------------------------------------------------------

void MemoryTree::check(const Node& node, std::size_t depth, Sums& sums) {
  HEXAD_ASSERT(node.places() >= 1 && node.places() <= kMemoryFanOut);  // MT1
  for (std::size_t i = 1; i < node.places(); ++i) {
    HEXAD_ASSERT(node.entries[i - 1]->key < node.entries[i]->key);  // MT1
  }
  HEXAD_ASSERT(node.leaf() == (depth == 0));
  if (node.leaf()) {
    sums.entries += node.places();
    for (const EntryRef& entry : node.entries) sums.bytes += bytes_of(*entry);
    return;
  }
  HEXAD_ASSERT(node.children.size() == node.places());
  for (std::size_t i = 0; i < node.places(); ++i) {
    const Node& child = *node.children[i];
    HEXAD_ASSERT(first_of(child) == node.entries[i]);  // MT2
    if (i > 0) {
      HEXAD_ASSERT(node.children[i - 1]->places() + child.places() > kMemoryFanOut / 2);  // MT3
    }
    check(child, depth - 1, sums);
  }
}

void MemoryTree::check_invariants() const {
  Sums sums;
  if (root_ != nullptr) check(*root_, depth_, sums);
  HEXAD_ASSERT(sums.entries == entries_ && sums.bytes == bytes_);
  std::string_view last;
  std::uint64_t walked = 0;
  Cursor cursor(*this);
  for (cursor.seek_to_first(); cursor.valid(); cursor.next(), ++walked) {
    HEXAD_ASSERT(walked == 0 || last < cursor.entry().key);
    last = cursor.entry().key;
  }
  HEXAD_ASSERT(walked == entries_);
}

}  // namespace hexad::kv
