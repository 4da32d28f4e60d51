// Memory for direct I/O: an owned run of bytes whose start lies on a 4 KiB boundary. Large ones are
// used again (base/buffer_shelf.h).
#pragma once

#include <cstddef>
#include <utility>

#include "base/bytes.h"

namespace hexad {

class AlignedBuffer {
 public:
  static constexpr std::size_t kAlignment = 4096;

  AlignedBuffer() = default;
  // `size` bytes, not initialised. Throws std::bad_alloc like any container when memory is refused.
  explicit AlignedBuffer(std::size_t size);
  // Zero-filled.
  static AlignedBuffer zeroed(std::size_t size);
  // A copy of `bytes`.
  static AlignedBuffer copy_of(ByteView bytes);
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  ~AlignedBuffer();

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  MutByteView bytes() { return {data_, size_}; }
  ByteView bytes() const { return {data_, size_}; }
  operator ByteView() const { return bytes(); }  // NOLINT: a buffer is its bytes

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace hexad
