// The ways to choose some shards of a set: for whoever does not know which are good, and finds out
// by trying.
#pragma once

#include <array>
#include <cstdint>

#include "ec/shard_set.h"

namespace hexad::ec {

// Visits every subset of `of` with `size` members once; those of the lowest indexes come first.
// The empty subset is one. There may be very many: the caller bounds how many it tries.
//
//   for (ShardSubsets choice(present, k); !choice.done(); choice.next()) try_with(choice.get());
class ShardSubsets {
 public:
  ShardSubsets(ShardSet of, std::uint32_t size) : count_(of.size()) {
    std::uint32_t at = 0;
    for (const ShardIndex i : of) members_[at++] = i;
    bits_ = ShardSet::first(size).bits();
    done_ = size > count_;
  }

  bool done() const { return done_; }
  ShardSet get() const {
    ShardSet chosen;
    for (const ShardIndex position : ShardSet::from_bits(bits_)) chosen.add(members_[position]);
    return chosen;
  }
  // The next larger number with as many bits set.
  void next() {
    const std::uint64_t low = bits_ & (~bits_ + 1);
    const std::uint64_t ripple = bits_ + low;
    // No bit at all, or the highest ones of a whole word: nothing larger.
    if (low == 0 || ripple == 0) {
      done_ = true;
      return;
    }
    bits_ = ripple | (((bits_ ^ ripple) / low) >> 2);
    done_ = (bits_ & ~ShardSet::first(count_).bits()) != 0;
  }

 private:
  std::array<ShardIndex, 64> members_{};  // of the set, ascending
  std::uint32_t count_;
  std::uint64_t bits_;  // which of them
  bool done_;
};

}  // namespace hexad::ec
