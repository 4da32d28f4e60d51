// The cells of stripes that are on their way to devices. Whoever may see a blob before it is
// durable (a buffered commit, or one before it in the order) reads it here until its group is
// durable.
//
// Invariants
//   IF1 the cells of a stripe are here from before anybody can learn of it (its transaction gets
//       its LSN, or its unplaced blobs their place) until its group is durable
//   IF2 so a reader that finds a stripe here gets its bytes, and one that does not finds them on
//       devices; both are the same
//
// Any thread. A leaf: no other lock is taken under its own. Costs a map entry per stripe in flight.
#pragma once

#include <atomic>
#include <cstdint>
#include <unordered_map>

#include "alloc/zone.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "io/executor.h"

namespace hexad::core {

class InFlightCells {
 public:
  explicit InFlightCells(io::Executor& executor) : mutex_(executor) {}

  // `cells`: those of the stripe in role order, `stride` bytes apart. They stay where they are
  // until remove().
  void add(const alloc::Extent& where, ByteView cells, std::uint32_t stride) {
    const io::Lock lock(mutex_);
    HEXAD_ASSERT(cells_.emplace(key(where), Cells{cells, stride}).second);
    count_.store(cells_.size(), std::memory_order_relaxed);
  }
  void remove(const alloc::Extent& where) {
    const io::Lock lock(mutex_);
    cells_.erase(key(where));
    count_.store(cells_.size(), std::memory_order_relaxed);
  }

  // Calls `copy(cell_of)` when the stripe is here, where cell_of(role) is a cell and its padding;
  // under the lock, so that the cells stay. False when it is not here, or when `copy` says so.
  template <typename Copy>
  bool read(const alloc::Extent& where, const Copy& copy) const {
    // IF1: whoever knows of the stripe has seen it being added.
    if (count_.load(std::memory_order_relaxed) == 0) return false;
    const io::Lock lock(mutex_);
    const auto at = cells_.find(key(where));
    if (at == cells_.end()) return false;
    const Cells& cells = at->second;
    return copy([&cells](std::uint32_t role) {
      return cells.bytes.subspan(std::size_t{role} * cells.stride, cells.stride);
    });
  }

  std::size_t size() const { return count_.load(std::memory_order_relaxed); }

 private:
  struct Cells {
    ByteView bytes;
    std::uint32_t stride = 0;
  };
  static std::uint64_t key(const alloc::Extent& where) {
    return std::uint64_t{where.zone} << 32 | where.unit;
  }

  mutable io::Mutex mutex_;
  std::unordered_map<std::uint64_t, Cells> cells_ HEXAD_GUARDED_BY(mutex_);  // only ever looked up
  std::atomic<std::size_t> count_{0};
};

}  // namespace hexad::core
