// Large buffers that have been given back, for whoever needs one of the same size next. The
// allocator would unmap each of them, and the kernel map and zero the next one page by page, which
// costs more than what most of them are for. doc/decisions/020-buffers-are-used-again.md
//
// Invariants
//   BS1 a buffer is on the shelf or in somebody's hands, never both
//   BS2 bytes() <= most(), of buffers of kSmallest bytes and more; the newest are kept
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hexad {

class BufferShelf {
 public:
  // Smaller ones are the allocator's, which keeps them itself.
  static constexpr std::size_t kSmallest = 64 << 10;
  static constexpr std::size_t kMost = 32 << 20;

  // At most `most` bytes are kept. A buffer larger than that never is.
  constexpr explicit BufferShelf(std::size_t most = kMost) : most_(most) {}
  BufferShelf(const BufferShelf&) = delete;
  BufferShelf& operator=(const BufferShelf&) = delete;
  // What is left on the shelf is the allocator's again only by clear(): the shelf of the process
  // has to outlive every buffer, those of other static objects among them.
  ~BufferShelf() = default;

  // The one of the process. None under the address sanitizer, which looks for uses of what has been
  // freed: then nothing is kept.
  static BufferShelf& process();

  // How much memory to ask for where `bytes` are needed: the same for many that are about as large,
  // so that one can take another's place; at most an eighth more.
  static std::size_t capacity_for(std::size_t bytes);

  // A buffer of capacity_for(bytes) bytes, aligned like AlignedBuffer and with whatever is in it,
  // or null. Any thread; nobody waits here: null, too, while another thread looks, and for ever in
  // a child that was forked then.
  std::byte* take(std::size_t bytes);
  // Gives back what take() or std::aligned_alloc() has given for `bytes`; free() where there is no
  // room for it. Older ones are freed to make room. Any thread, as above.
  void put(std::byte* buffer, std::size_t bytes);
  // Frees all.
  void clear();

  // Kept at present; only exact while nobody else takes or puts.
  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  std::size_t most() const { return most_; }

 private:
  struct Kept {
    std::byte* buffer = nullptr;
    std::size_t capacity = 0;
  };
  bool lock() { return !busy_.test_and_set(std::memory_order_acquire); }
  void unlock() { busy_.clear(std::memory_order_release); }
  void drop_oldest();

  // Of the smallest buffers as many fit as the most bytes allow.
  static constexpr std::size_t kPlaces = kMost / kSmallest;

  const std::size_t most_;
  std::atomic_flag busy_;
  std::atomic<std::size_t> bytes_{0};
  std::size_t count_ = 0;
  std::array<Kept, kPlaces> kept_ = {};  // the first count_, the oldest first
};

}  // namespace hexad
