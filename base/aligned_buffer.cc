#include "base/aligned_buffer.h"

#include <cstdlib>
#include <new>

#include "base/buffer_shelf.h"
#include "base/lent_memory.h"

namespace hexad {

AlignedBuffer::AlignedBuffer(std::size_t size) : size_(size) {
  if (size == 0) return;
  data_ = BufferShelf::process().take(size);
  if (data_ != nullptr) return;
  data_ = static_cast<std::byte*>(std::aligned_alloc(kAlignment, BufferShelf::capacity_for(size)));
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

AlignedBuffer::~AlignedBuffer() {
  if (data_ == nullptr || LentMemory::process().keep(data_, size_)) return;
  BufferShelf::process().put(data_, size_);
}

}  // namespace hexad
