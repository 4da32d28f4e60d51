// Walks two memtables as one, either way: where both have a key the newer table counts. Versions
// may be dropped meanwhile, which ends iterators: then it goes on behind the last key that was
// passed.
//
// Lock: all but stale() and pass() under that of whoever changes the tables.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "kv/memory/memtable.h"
#include "kv/walk.h"

namespace hexad::core {

// In the direction of travel: below zero if `a` comes first.
inline int order_of(kv::Direction direction, std::string_view a, std::string_view b) {
  return direction == kv::Direction::kForward ? a.compare(b) : b.compare(a);
}

class MemtableWalk {
 public:
  using Iterator = kv::Memtable::Iterator;

  // `erasures` counts what ends iterators, and outlives it. `frozen` is the older table.
  MemtableWalk(Iterator active, std::optional<Iterator> frozen,
               const std::atomic<std::uint64_t>& erasures)
      : active_(active), frozen_(frozen), erasures_(erasures) {}

  // Starts anew: the next place() goes where it is told.
  void begin() {
    placed_ = false;
    passed_.reset();
  }
  // Versions were dropped: what was read may be one of them.
  bool stale() const { return placed_ && generation_ != erasures_; }
  // The walk has left this key behind. Its bytes stay.
  void pass(std::string_view key) { passed_ = key; }

  // Stands on the first key behind what was passed since begin(); where nothing was, on the first
  // one from `from` on: at it or above, or below it.
  void place(kv::Direction direction, std::string_view from) {
    if (!placed_ || generation_ != erasures_) place_anew(direction, from);
  }
  // Preconditions of all below: placed. The iterator that has more keys, where the other one has
  // none: it may be moved.
  Iterator* only_one();
  // The one with the nearest key, of two with the same key the newer; null at the end of both.
  const Iterator* nearest(kv::Direction direction) const;
  // Steps off the key, where the iterators stand on it.
  void leave(kv::Direction direction, std::string_view key);

 private:
  void place_anew(kv::Direction direction, std::string_view from);

  Iterator active_;
  std::optional<Iterator> frozen_;
  const std::atomic<std::uint64_t>& erasures_;
  std::uint64_t generation_ = 0;  // of that, when the iterators were set
  bool placed_ = false;           // they have been since begin()
  std::optional<std::string_view> passed_;
};

}  // namespace hexad::core
