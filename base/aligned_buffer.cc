#include "base/aligned_buffer.h"

#include <cstdlib>
#include <new>

namespace hexad {

AlignedBuffer::AlignedBuffer(std::size_t size) : size_(size) {
  if (size == 0) return;
  const std::size_t whole = (size + kAlignment - 1) / kAlignment * kAlignment;
  data_ = static_cast<std::byte*>(std::aligned_alloc(kAlignment, whole));
  if (data_ == nullptr) throw std::bad_alloc();
}

AlignedBuffer AlignedBuffer::zeroed(std::size_t size) {
  AlignedBuffer buffer(size);
  fill_zero(buffer.bytes());
  return buffer;
}

AlignedBuffer AlignedBuffer::copy_of(ByteView bytes) {
  AlignedBuffer buffer(bytes.size());
  copy_bytes(buffer.bytes(), bytes);
  return buffer;
}

AlignedBuffer::~AlignedBuffer() { std::free(data_); }

}  // namespace hexad
