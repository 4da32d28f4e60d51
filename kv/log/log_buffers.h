// Memory of log blocks that have been written, for the next ones: blocks are short and come one
// after the other, and the allocator and the zeros behind a lone record took as long as the rest of
// the block. doc/decisions/095-log-blocks-encoded-in-place.md
//
// Invariants
//   LB1 a buffer is kept here or in somebody's hands, never both, and nobody reads it who had it
//       before: what a device may still read (LM1 of base/lent_memory.h) is not kept
//   LB2 a buffer holds zeros from `written` on, so a block is padded with zeros whatever its memory
//       was before
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/aligned_buffer.h"

namespace hexad::kv {

// Memory of one block, of its length.
struct LogBuffer {
  AlignedBuffer bytes;
  std::uint64_t written = 0;  // bytes; zeros follow
};

class LogBuffers {
 public:
  // Buffers that are kept at most; none where memory that is freed is watched (BufferShelf).
  static constexpr std::size_t kMost = 8;
  LogBuffers();
  explicit LogBuffers(std::size_t most) : most_(most) {}
  LogBuffers(const LogBuffers&) = delete;
  LogBuffers& operator=(const LogBuffers&) = delete;

  // For a block of `length` bytes: one that is kept, or a new one. Any thread, none waits.
  LogBuffer take(std::uint64_t length);
  // Of a block that nobody looks at any more. When there are enough, the oldest one goes. Any
  // thread, none waits: it is freed where another thread is here.
  void put(LogBuffer buffer);

 private:
  bool lock() { return !busy_.test_and_set(std::memory_order_acquire); }
  void unlock() { busy_.clear(std::memory_order_release); }

  const std::size_t most_;
  std::atomic_flag busy_;
  std::size_t count_ = 0;
  std::array<LogBuffer, kMost> kept_;  // the first count_, the oldest first
};

}  // namespace hexad::kv
