// Memory that a device may still read from or write into although nobody waits for it any more:
// buffers that their owners let go of stay as they are until the device has answered.
//
// Invariants
//   LM1 a buffer of which a part is lent is neither freed nor given to anybody else
//   LM2 where nothing is lent, whoever lets go of a buffer pays one load for it
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include "base/bytes.h"
#include "base/os_mutex.h"

namespace hexad {

class LentMemory {
 public:
  // The one of the process.
  static LentMemory& process();

  // A device has these bytes, which are part of an AlignedBuffer. The same bytes may be lent more
  // than once. Any thread; before their owner can let go of them.
  void lend(ByteView bytes);
  // It has answered: once for each lend(). Frees what was kept for it alone.
  void reclaim(ByteView bytes);
  // Of a buffer whose owner lets go of it: true when a part of it is lent; then it is freed when
  // nothing of it is any more.
  bool keep(std::byte* buffer, std::size_t size) { return any() && keep_lent(buffer, size); }
  // Whether anything is lent. As keep(), after lend() for whoever asks about a buffer of its own.
  bool any() const { return lent_.load(std::memory_order_relaxed) > 0; }
  // Buffers that wait for that.
  std::size_t kept() const;

 private:
  struct Kept {
    std::byte* buffer = nullptr;
    std::size_t size = 0;
  };
  bool keep_lent(std::byte* buffer, std::size_t size);
  bool is_lent(const Kept& one) const HEXAD_REQUIRES(mutex_);

  std::atomic<std::size_t> lent_{0};  // ranges
  mutable OsMutex mutex_;
  std::vector<ByteView> ranges_ HEXAD_GUARDED_BY(mutex_);
  std::vector<Kept> kept_ HEXAD_GUARDED_BY(mutex_);
};

}  // namespace hexad
