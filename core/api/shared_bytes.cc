#include "core/api/shared_bytes.h"

#include <algorithm>
#include <limits>

#include "base/aligned_buffer.h"
#include "base/assert.h"
#include "base/buffer_shelf.h"

namespace hexad::core {

namespace {

// Larger copies have memory of their own: what would be left over of a piece is not worth it.
constexpr std::size_t kShared = SharedCopies::kPiece / 4;

std::shared_ptr<std::byte> memory(std::size_t bytes) {
  if (bytes >= BufferShelf::kSmallest) {
    const auto buffer = std::make_shared<AlignedBuffer>(bytes);
    return {buffer, buffer->data()};
  }
  const auto array = std::make_shared_for_overwrite<std::byte[]>(bytes);
  return {array, array.get()};
}

}  // namespace

SharedBytes SharedBytes::copy_of(ByteView bytes) {
  HEXAD_ASSERT(!bytes.empty() && bytes.size() <= std::numeric_limits<std::uint32_t>::max());
  const std::shared_ptr<std::byte> own = memory(bytes.size());
  copy_bytes({own.get(), bytes.size()}, bytes);
  return {own, bytes.size(), bytes.size()};
}

SharedBytes SharedBytes::compact() const {
  return memory_ > 2 * std::size_t{size_} ? copy_of(bytes()) : *this;
}

SharedBytes SharedCopies::copy(ByteView bytes) {
  HEXAD_ASSERT(!bytes.empty());
  const std::uint64_t expected = expected_;
  expected_ -= std::min<std::uint64_t>(expected_, bytes.size());
  if (bytes.size() > kShared) return SharedBytes::copy_of(bytes);
  if (bytes.size() > size_ - used_) {
    size_ = std::max<std::size_t>(bytes.size(), std::min<std::uint64_t>(expected, kPiece));
    piece_ = memory(size_);
    used_ = 0;
  }
  std::byte* const begin = piece_.get() + used_;
  copy_bytes({begin, bytes.size()}, bytes);
  used_ += bytes.size();
  return {{piece_, begin}, bytes.size(), size_};
}

}  // namespace hexad::core
