#include "base/buffer_shelf.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "base/aligned_buffer.h"

#if defined(__SANITIZE_ADDRESS__)
#define HEXAD_KEEPS_BUFFERS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEXAD_KEEPS_BUFFERS 0
#endif
#endif
#ifndef HEXAD_KEEPS_BUFFERS
#define HEXAD_KEEPS_BUFFERS 1
#endif

namespace hexad {

BufferShelf& BufferShelf::process() {
  // Needs no constructor and has no destructor to run: there before and after everything else.
  static constinit BufferShelf shelf(HEXAD_KEEPS_BUFFERS != 0 ? kMost : 0);
  return shelf;
}

// Eight sizes between one power of two and the next.
std::size_t BufferShelf::capacity_for(std::size_t bytes) {
  const std::size_t step =
      bytes < kSmallest ? AlignedBuffer::kAlignment : std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}

std::byte* BufferShelf::take(std::size_t bytes) {
  const std::size_t capacity = capacity_for(bytes);
  if (capacity < kSmallest || bytes_.load(std::memory_order_relaxed) < capacity || !lock()) {
    return nullptr;
  }
  std::byte* found = nullptr;
  // The newest first: its bytes may still be in the processor's cache.
  for (std::size_t i = count_; i-- > 0 && found == nullptr;) {
    if (kept_[i].capacity != capacity) continue;
    found = kept_[i].buffer;
    std::move(kept_.begin() + i + 1, kept_.begin() + count_, kept_.begin() + i);
    --count_;
    bytes_.fetch_sub(capacity, std::memory_order_relaxed);
  }
  unlock();
  return found;
}

void BufferShelf::put(std::byte* buffer, std::size_t bytes) {
  const std::size_t capacity = capacity_for(bytes);
  if (buffer == nullptr || capacity < kSmallest || capacity > most_ || !lock()) {
    std::free(buffer);
    return;
  }
  while (count_ == kPlaces || bytes_.load(std::memory_order_relaxed) + capacity > most_) {
    drop_oldest();
  }
  kept_[count_++] = {buffer, capacity};
  bytes_.fetch_add(capacity, std::memory_order_relaxed);
  unlock();
}

void BufferShelf::clear() {
  if (!lock()) return;
  while (count_ > 0) drop_oldest();
  unlock();
}

void BufferShelf::drop_oldest() {
  std::free(kept_.front().buffer);
  bytes_.fetch_sub(kept_.front().capacity, std::memory_order_relaxed);
  std::move(kept_.begin() + 1, kept_.begin() + count_, kept_.begin());
  --count_;
}

}  // namespace hexad
