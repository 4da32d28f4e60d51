// The names of a page of a listing, one behind the other in a few pieces of memory: to allocate and
// free a string for each of them would be a fifth of what a page costs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace hexad::core {

class PageText {
 public:
  // A copy of the name, which stays where it is for as long as what take() returns.
  std::string_view add(std::string_view name) {
    if (name.size() > left_) grow(name.size());
    std::memcpy(free_, name.data(), name.size());
    const std::string_view added(free_, name.size());
    free_ += name.size();
    left_ -= name.size();
    return added;
  }
  // Owns all names; nothing is added any more.
  std::shared_ptr<const void> take() { return std::move(pieces_); }

 private:
  using Pieces = std::vector<std::unique_ptr<char[]>>;

  // Twice as much each time: short pages take little memory, and long ones few pieces.
  void grow(std::size_t least) {
    constexpr std::size_t kMost = 256 << 10;  // bytes
    if (pieces_ == nullptr) pieces_ = std::make_shared<Pieces>();
    left_ = std::max(least, size_);
    pieces_->push_back(std::make_unique_for_overwrite<char[]>(left_));
    free_ = pieces_->back().get();
    size_ = std::min(2 * size_, kMost);
  }

  std::shared_ptr<Pieces> pieces_;
  std::size_t size_ = 1 << 10;  // of the next piece, bytes
  char* free_ = nullptr;
  std::size_t left_ = 0;  // bytes behind that
};

}  // namespace hexad::core
