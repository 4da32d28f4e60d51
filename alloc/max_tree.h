// A row of numbers that answers "which is the first at or after i that is at least x" in O(log n):
// the zone with a free run that is long enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace hexad::alloc {

class MaxTree {
 public:
  std::size_t size() const { return size_; }
  void push_back(std::uint32_t value);
  void set(std::size_t index, std::uint32_t value);  // precondition: index < size()
  std::uint32_t at(std::size_t index) const { return tree_[leaves_ + index]; }
  // The largest of all; 0 when empty.
  std::uint32_t max() const { return size_ == 0 ? 0 : tree_[1]; }
  // The first index >= from with a value >= `least`.
  std::optional<std::size_t> find(std::size_t from, std::uint32_t least) const;

 private:
  void grow();

  std::size_t size_ = 0;
  std::size_t leaves_ = 0;           // a power of two, or 0
  std::vector<std::uint32_t> tree_;  // node 1 is the root; leaf i is leaves_ + i
};

}  // namespace hexad::alloc
