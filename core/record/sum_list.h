// A list of checksums. Most blobs have one or two, and a page of extents has hundreds of blobs that
// are decoded, copied and dropped for each small write: so a short list has no memory of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace hexad::core {

// As a std::vector<std::uint64_t>, of which it has what is needed; a list that was moved from is
// empty.
class SumList {
 public:
  using value_type = std::uint64_t;
  static constexpr std::size_t kInside = 2;  // sums that take no memory besides the list's own

  SumList() {}
  explicit SumList(std::size_t count, std::uint64_t sum = 0) { assign(count, sum); }
  SumList(std::initializer_list<std::uint64_t> sums) { copy(sums.begin(), sums.size()); }
  SumList(const SumList& other) { copy(other.data(), other.size_); }
  SumList(SumList&& other) noexcept { take(other); }
  SumList& operator=(const SumList& other) {
    if (this != &other) {
      size_ = 0;
      copy(other.data(), other.size_);
    }
    return *this;
  }
  SumList& operator=(SumList&& other) noexcept {
    if (this != &other) {
      drop();
      take(other);
    }
    return *this;
  }
  ~SumList() { drop(); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::size_t capacity() const { return capacity_; }
  std::uint64_t* data() { return is_inside() ? inside_ : outside_; }
  const std::uint64_t* data() const { return is_inside() ? inside_ : outside_; }
  std::uint64_t* begin() { return data(); }
  std::uint64_t* end() { return data() + size_; }
  const std::uint64_t* begin() const { return data(); }
  const std::uint64_t* end() const { return data() + size_; }
  // Precondition: index < size().
  std::uint64_t& operator[](std::size_t index) { return data()[index]; }
  std::uint64_t operator[](std::size_t index) const { return data()[index]; }
  // Preconditions: not empty.
  std::uint64_t& front() { return data()[0]; }
  std::uint64_t front() const { return data()[0]; }
  std::uint64_t& back() { return data()[size_ - 1]; }
  std::uint64_t back() const { return data()[size_ - 1]; }

  void reserve(std::size_t count) {
    if (count <= capacity_) return;
    auto* const larger = new std::uint64_t[count];
    std::copy_n(data(), size_, larger);
    if (!is_inside()) delete[] outside_;
    outside_ = larger;
    capacity_ = static_cast<std::uint32_t>(count);
  }
  void push_back(std::uint64_t sum) {
    if (size_ == capacity_) reserve(std::size_t{2} * capacity_);
    data()[size_++] = sum;
  }
  void pop_back() { --size_; }  // precondition: not empty
  void clear() { size_ = 0; }
  void assign(std::size_t count, std::uint64_t sum) {
    reserve(count);
    std::fill_n(data(), count, sum);
    size_ = static_cast<std::uint32_t>(count);
  }

  bool operator==(const SumList& other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

 private:
  bool is_inside() const { return capacity_ == kInside; }
  // Precondition: the list is empty.
  void copy(const std::uint64_t* from, std::size_t count) {
    reserve(count);
    std::copy_n(from, count, data());
    size_ = static_cast<std::uint32_t>(count);
  }
  // Precondition: nothing to let go of.
  void take(SumList& other) {
    size_ = other.size_;
    capacity_ = other.capacity_;
    if (other.is_inside()) {
      std::copy_n(other.inside_, kInside, inside_);
    } else {
      outside_ = other.outside_;
    }
    other.size_ = 0;
    other.capacity_ = kInside;
  }
  void drop() {
    if (!is_inside()) delete[] outside_;
  }

  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = kInside;  // more: in `outside_`
  union {
    std::uint64_t inside_[kInside] = {};
    std::uint64_t* outside_;
  };
};

}  // namespace hexad::core
