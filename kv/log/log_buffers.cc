#include "kv/log/log_buffers.h"

#include <algorithm>
#include <utility>

#include "base/buffer_shelf.h"
#include "base/lent_memory.h"

namespace hexad::kv {

LogBuffers::LogBuffers() : LogBuffers(BufferShelf::process().most() == 0 ? 0 : kMost) {}

LogBuffer LogBuffers::take(std::uint64_t length) {
  if (lock()) {
    // The newest first: its bytes may still be in the processor's cache.
    for (std::size_t i = count_; i-- > 0;) {
      if (kept_[i].bytes.size() != length) continue;
      LogBuffer found = std::move(kept_[i]);
      std::move(kept_.begin() + i + 1, kept_.begin() + count_, kept_.begin() + i);
      --count_;
      unlock();
      return found;
    }
    unlock();
  }
  return {AlignedBuffer(length), length};
}

void LogBuffers::put(LogBuffer buffer) {
  // Larger ones are used again by BufferShelf, which knows by itself what is lent.
  if (buffer.bytes.empty() || buffer.bytes.size() >= BufferShelf::kSmallest || most_ == 0) return;
  if (LentMemory::process().any()) return;  // LB1: its destructor knows what to do
  LogBuffer old;                            // freed without the lock
  if (!lock()) return;
  if (count_ == most_) {
    old = std::move(kept_.front());
    std::move(kept_.begin() + 1, kept_.begin() + count_, kept_.begin());
    --count_;
  }
  kept_[count_++] = std::move(buffer);
  unlock();
}

}  // namespace hexad::kv
