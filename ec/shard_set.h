// A set of the shards (cells) of one stripe, as bits of one word.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "base/id.h"

namespace hexad::ec {

// 0 to k-1 are data, k to k+m-1 parity.
using ShardIndex = Id<struct ShardTag, std::uint32_t>;

// Members are below 64. Indexes from there on are ignored by add() and never contained, so that a
// set can be built from unchecked numbers; compare size() with the count put in.
class ShardSet {
 public:
  constexpr ShardSet() = default;
  constexpr ShardSet(std::initializer_list<ShardIndex> members) {
    for (ShardIndex member : members) add(member);
  }
  // 0 to count-1.
  static constexpr ShardSet first(std::uint32_t count) {
    return from_bits(count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1);
  }
  static constexpr ShardSet from_bits(std::uint64_t bits) {
    ShardSet set;
    set.bits_ = bits;
    return set;
  }

  constexpr std::uint64_t bits() const { return bits_; }
  constexpr bool contains(ShardIndex i) const { return i < 64 && ((bits_ >> i) & 1) != 0; }
  constexpr void add(ShardIndex i) { bits_ |= bit(i); }
  constexpr void remove(ShardIndex i) { bits_ &= ~bit(i); }
  constexpr std::uint32_t size() const { return static_cast<std::uint32_t>(std::popcount(bits_)); }
  constexpr bool empty() const { return bits_ == 0; }
  // Every member of `other` is a member here.
  constexpr bool includes(ShardSet other) const { return (other.bits_ & ~bits_) == 0; }
  constexpr ShardSet operator|(ShardSet other) const { return from_bits(bits_ | other.bits_); }
  constexpr ShardSet operator&(ShardSet other) const { return from_bits(bits_ & other.bits_); }
  // The members that `other` does not have.
  constexpr ShardSet operator-(ShardSet other) const { return from_bits(bits_ & ~other.bits_); }
  constexpr bool operator==(const ShardSet&) const = default;

  // Walks the members in ascending order: for (ShardIndex i : set).
  class Iterator {
   public:
    using value_type = ShardIndex;
    using difference_type = std::ptrdiff_t;

    constexpr Iterator() = default;
    constexpr explicit Iterator(std::uint64_t bits) : bits_(bits) {}
    constexpr ShardIndex operator*() const {
      return static_cast<ShardIndex>(std::countr_zero(bits_));
    }
    constexpr Iterator& operator++() {
      bits_ &= bits_ - 1;
      return *this;
    }
    constexpr Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    constexpr bool operator==(const Iterator&) const = default;

   private:
    std::uint64_t bits_ = 0;
  };
  constexpr Iterator begin() const { return Iterator(bits_); }
  constexpr Iterator end() const { return Iterator(0); }

 private:
  static constexpr std::uint64_t bit(ShardIndex i) { return i < 64 ? std::uint64_t{1} << i : 0; }

  std::uint64_t bits_ = 0;
};

}  // namespace hexad::ec
