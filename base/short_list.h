// A list that mostly has few elements: up to N of them lie in it, and take no memory of their own.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "base/assert.h"

namespace hexad {

// As a std::vector, of which it has what is needed; but moving the list moves elements that lie in
// it, so nothing points to them across that. A list that was moved from is empty.
template <typename T, std::size_t N>
class ShortList {
 public:
  static_assert(N > 0 && std::is_nothrow_move_constructible_v<T>);
  using value_type = T;

  ShortList() : data_(inside()) {}
  ShortList(const ShortList&) = delete;
  ShortList& operator=(const ShortList&) = delete;
  ShortList(ShortList&& other) noexcept : data_(inside()) { take(other); }
  ShortList& operator=(ShortList&& other) noexcept {
    if (this != &other) {
      drop();
      data_ = inside();
      capacity_ = N;
      take(other);
    }
    return *this;
  }
  ~ShortList() { drop(); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  // Precondition: index < size().
  T& operator[](std::size_t index) {
    HEXAD_ASSERT(index < size_);
    return data_[index];
  }
  const T& operator[](std::size_t index) const {
    HEXAD_ASSERT(index < size_);
    return data_[index];
  }
  // Preconditions: not empty.
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[size_ - 1]; }
  const T& back() const { return (*this)[size_ - 1]; }

  // `value` may be one of the list.
  void push_back(const T& value) { push_back(T(value)); }
  void push_back(T&& value) {
    if (size_ < capacity_) {
      std::construct_at(data_ + size_, std::move(value));
    } else {
      T kept = std::move(value);
      grow();
      std::construct_at(data_ + size_, std::move(kept));
    }
    ++size_;
  }
  // The last ones go. Precondition: count <= size().
  void truncate(std::size_t count) {
    HEXAD_ASSERT(count <= size_);
    std::destroy(data_ + count, data_ + size_);
    size_ = count;
  }
  void clear() { truncate(0); }

 private:
  T* inside() { return reinterpret_cast<T*>(inside_); }
  bool is_inside() const { return capacity_ == N; }
  void grow() {
    T* const larger = std::allocator<T>().allocate(capacity_ * 2);
    std::uninitialized_move(begin(), end(), larger);
    drop();
    data_ = larger;
    capacity_ *= 2;
  }
  // Precondition: nothing to let go of.
  void take(ShortList& other) {
    if (other.is_inside()) {
      std::uninitialized_move(other.begin(), other.end(), data_);
      size_ = other.size_;
      other.clear();
      return;
    }
    data_ = std::exchange(other.data_, other.inside());
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, N);
  }
  void drop() {
    std::destroy(begin(), end());
    if (!is_inside()) std::allocator<T>().deallocate(data_, capacity_);
  }

  T* data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = N;
  alignas(T) std::byte inside_[N * sizeof(T)];
};

}  // namespace hexad
