#include "base/lent_memory.h"

#include <algorithm>
#include <functional>

#include "base/assert.h"
#include "base/buffer_shelf.h"

namespace hexad {

LentMemory& LentMemory::process() {
  // Never destroyed: devices may answer, and buffers go, behind every static object.
  static auto* const memory = new LentMemory;
  return *memory;
}

void LentMemory::lend(ByteView bytes) {
  const OsLock lock(mutex_);
  ranges_.push_back(bytes);
  lent_.store(ranges_.size(), std::memory_order_relaxed);
}

void LentMemory::reclaim(ByteView bytes) {
  std::vector<Kept> free;
  {
    const OsLock lock(mutex_);
    const auto range = std::find_if(ranges_.begin(), ranges_.end(), [&](ByteView one) {
      return one.data() == bytes.data() && one.size() == bytes.size();
    });
    HEXAD_ASSERT(range != ranges_.end());
    ranges_.erase(range);
    const auto first =
        std::partition(kept_.begin(), kept_.end(),
                       [this](const Kept& one) HEXAD_REQUIRES(mutex_) { return is_lent(one); });
    free.assign(first, kept_.end());
    kept_.erase(first, kept_.end());
    lent_.store(ranges_.size(), std::memory_order_relaxed);
  }
  for (const Kept& one : free) BufferShelf::process().put(one.buffer, one.size);
}

bool LentMemory::keep_lent(std::byte* buffer, std::size_t size) {
  const OsLock lock(mutex_);
  const Kept one{buffer, size};
  if (!is_lent(one)) return false;
  kept_.push_back(one);
  return true;
}

std::size_t LentMemory::kept() const {
  const OsLock lock(mutex_);
  return kept_.size();
}

bool LentMemory::is_lent(const Kept& one) const {
  const std::less<const std::byte*> before;
  return std::any_of(ranges_.begin(), ranges_.end(), [&](ByteView range) {
    return before(range.data(), one.buffer + one.size) &&
           before(one.buffer, range.data() + range.size());
  });
}

}  // namespace hexad
