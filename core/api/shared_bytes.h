// Bytes with several owners, none of which changes them: the stored bytes of a small blob on their
// way from the commit to a stripe. Copying one makes another owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/bytes.h"

namespace hexad::core {

// None, or 1 byte to 4 GiB. As thread-safe as a std::shared_ptr.
class SharedBytes {
 public:
  SharedBytes() = default;
  // In memory of their own, which goes with the last owner.
  static SharedBytes copy_of(ByteView bytes);

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  ByteView bytes() const { return {data_.get(), size_}; }
  // The same bytes, for whoever keeps them for long: copied out where they hold on to much more
  // memory than they need.
  SharedBytes compact() const;

 private:
  friend class SharedCopies;
  SharedBytes(std::shared_ptr<const std::byte> data, std::size_t size, std::size_t memory)
      : data_(std::move(data)),
        size_(static_cast<std::uint32_t>(size)),
        memory_(static_cast<std::uint32_t>(memory)) {}

  std::shared_ptr<const std::byte> data_;
  std::uint32_t size_ = 0;
  std::uint32_t memory_ = 0;  // bytes that go with the last owner, of this one or of others
};

// Copies for one transaction, of which small ones share pieces of memory: two allocations for each
// of thousands of blobs would take as long as their checksums. A piece goes with the last of its
// copies: whoever keeps one much longer than the others calls SharedBytes::compact().
class SharedCopies {
 public:
  // Bytes of memory that copies share at most.
  static constexpr std::size_t kPiece = 64 << 10;

  // `expected`: about how many bytes are going to be copied in all.
  explicit SharedCopies(std::uint64_t expected) : expected_(expected) {}

  // Precondition: not empty.
  SharedBytes copy(ByteView bytes);

 private:
  std::uint64_t expected_;  // and not copied yet
  std::shared_ptr<std::byte> piece_;
  std::size_t size_ = 0;  // of the piece
  std::size_t used_ = 0;
};

}  // namespace hexad::core
