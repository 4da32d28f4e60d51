#include "io/sim/cow_image.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/checksum.h"

namespace hexad::io {

CowImage::CowImage(std::shared_ptr<const CowImage> parent)
    : size_(parent->size_), parent_(std::move(parent)), parent_limit_(size_) {}

void CowImage::resize(std::uint64_t new_size) {
  if (new_size < size_) {
    const std::uint64_t whole = (new_size + kPage - 1) / kPage * kPage;
    if (whole > new_size) zero(new_size, std::min(whole, size_) - new_size);
    for (std::uint64_t page = whole / kPage; page * kPage < size_; ++page) pages_.erase(page);
    parent_limit_ = std::min(parent_limit_, new_size);
  }
  size_ = new_size;
}

void CowImage::read_in_page(std::uint64_t page, std::uint64_t at, MutByteView into) const {
  const auto found = pages_.find(page);
  if (found != pages_.end()) {
    copy_bytes(into, ByteView(*found->second).subspan(at, into.size()));
    return;
  }
  const std::uint64_t start = page * kPage + at;
  const std::uint64_t from_parent =
      start >= parent_limit_ ? 0 : std::min<std::uint64_t>(into.size(), parent_limit_ - start);
  if (from_parent > 0) parent_->read_in_page(page, at, into.first(from_parent));
  fill_zero(into.subspan(from_parent));
}

void CowImage::read(std::uint64_t offset, MutByteView into) const {
  HEXAD_ASSERT(offset <= size_ && into.size() <= size_ - offset);
  while (!into.empty()) {
    const std::uint64_t at = offset % kPage;
    const std::uint64_t step = std::min<std::uint64_t>(into.size(), kPage - at);
    read_in_page(offset / kPage, at, into.first(step));
    offset += step;
    into = into.subspan(step);
  }
}

CowImage::Page& CowImage::own(std::uint64_t page) {
  std::unique_ptr<Page>& slot = pages_[page];
  if (slot == nullptr) {
    auto fresh = std::make_unique<Page>();
    const std::uint64_t start = page * kPage;
    if (start < parent_limit_) {
      const std::uint64_t length = std::min(kPage, parent_limit_ - start);
      parent_->read_in_page(page, 0, MutByteView(*fresh).first(length));
    }
    slot = std::move(fresh);
  }
  return *slot;
}

void CowImage::write(std::uint64_t offset, ByteView from) {
  HEXAD_ASSERT(offset <= size_ && from.size() <= size_ - offset);
  while (!from.empty()) {
    const std::uint64_t at = offset % kPage;
    const std::uint64_t step = std::min<std::uint64_t>(from.size(), kPage - at);
    copy_bytes(MutByteView(own(offset / kPage)).subspan(at), from.first(step));
    offset += step;
    from = from.subspan(step);
  }
}

void CowImage::zero(std::uint64_t offset, std::uint64_t length) {
  static constexpr Page kZeros{};
  while (length > 0) {
    const std::uint64_t step = std::min(length, kPage - offset % kPage);
    write(offset, ByteView(kZeros).first(step));
    offset += step;
    length -= step;
  }
}

Bytes CowImage::flatten() const {
  Bytes bytes(size_);
  read(0, bytes);
  return bytes;
}

std::uint64_t CowImage::hash() const {
  const Bytes bytes = flatten();
  return xxh3_64(bytes) ^ size_ * 0x9e3779b97f4a7c15;
}

}  // namespace hexad::io
