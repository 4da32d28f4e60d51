#include "alloc/max_tree.h"

#include <algorithm>

#include "base/assert.h"

namespace hexad::alloc {

void MaxTree::grow() {
  const std::size_t leaves = leaves_ == 0 ? 1 : leaves_ * 2;
  std::vector<std::uint32_t> tree(2 * leaves, 0);
  for (std::size_t i = 0; i < size_; ++i) tree[leaves + i] = tree_[leaves_ + i];
  for (std::size_t node = leaves - 1; node > 0; --node) {
    tree[node] = std::max(tree[2 * node], tree[2 * node + 1]);
  }
  tree_ = std::move(tree);
  leaves_ = leaves;
}

void MaxTree::push_back(std::uint32_t value) {
  if (size_ == leaves_) grow();
  ++size_;
  set(size_ - 1, value);
}

void MaxTree::set(std::size_t index, std::uint32_t value) {
  HEXAD_ASSERT(index < size_);
  std::size_t node = leaves_ + index;
  if (tree_[node] == value) return;
  tree_[node] = value;
  for (node /= 2; node > 0; node /= 2) {
    const std::uint32_t larger = std::max(tree_[2 * node], tree_[2 * node + 1]);
    if (tree_[node] == larger) break;
    tree_[node] = larger;
  }
}

std::optional<std::size_t> MaxTree::find(std::size_t from, std::uint32_t least) const {
  if (from >= size_) return std::nullopt;
  // Up from the leaf to the first subtree to its right that has enough, then down its left edge.
  std::size_t node = leaves_ + from;
  while (tree_[node] < least) {
    while (node % 2 == 1) node /= 2;
    if (node == 0) return std::nullopt;
    ++node;
  }
  while (node < leaves_) {
    node *= 2;
    if (tree_[node] < least) ++node;
  }
  const std::size_t index = node - leaves_;
  // Leaves beyond the end hold 0, which is enough only when nothing is asked for.
  return index < size_ ? std::optional(index) : std::nullopt;
}

}  // namespace hexad::alloc
