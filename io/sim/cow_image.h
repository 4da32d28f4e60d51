// The content of a simulated disk: pages of 4 KiB over a parent that is shared and never changes.
// A child costs nothing to make and as much memory as is written to it, so that tens of thousands
// of versions of a disk can be tried one after the other. Zeros until written. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "base/bytes.h"

namespace hexad::io {

class CowImage {
 public:
  static constexpr std::uint64_t kPage = 4096;

  explicit CowImage(std::uint64_t size) : size_(size) {}
  // Starts out equal to `parent`, which does not change any more.
  explicit CowImage(std::shared_ptr<const CowImage> parent);

  std::uint64_t size() const { return size_; }
  // What is cut off reads as zeros if the image grows again.
  void resize(std::uint64_t new_size);
  // Preconditions of both: inside the image.
  void read(std::uint64_t offset, MutByteView into) const;
  void write(std::uint64_t offset, ByteView from);
  void zero(std::uint64_t offset, std::uint64_t length);

  // Pages written to this image itself.
  std::size_t own_pages() const { return pages_.size(); }
  // All bytes, as one piece.
  Bytes flatten() const;
  // Of size and content, however they came about. Cost: reads everything.
  std::uint64_t hash() const;

 private:
  using Page = std::array<std::byte, kPage>;

  void read_in_page(std::uint64_t page, std::uint64_t at, MutByteView into) const;
  Page& own(std::uint64_t page);

  std::uint64_t size_;
  std::shared_ptr<const CowImage> parent_;
  std::uint64_t parent_limit_ = 0;  // bytes of the parent that shine through; zeros beyond
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;  // never iterated
};

}  // namespace hexad::io
