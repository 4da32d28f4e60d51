// Bytes of an object in the memory of the read cache.
#pragma once

#include <memory>
#include <utility>

#include "base/bytes.h"

namespace hexad {

// The bytes of an object as the read cache has them, without a copy (Store::cached()).
//
// They stay as they are for as long as this or a copy of it exists, whatever happens to the object
// and to the store. Once the cache has dropped them, it does not count their memory any more.
//
// Threads: as a std::shared_ptr.
class PinnedBytes {
 public:
  // Makes a view of `bytes`, which exist as long as `owner`.
  PinnedBytes(ByteView bytes, std::shared_ptr<const void> owner)
      : bytes_(bytes), owner_(std::move(owner)) {}
  // Returns the bytes, valid while this or a copy of it exists.
  ByteView bytes() const { return bytes_; }

 private:
  ByteView bytes_;
  std::shared_ptr<const void> owner_;
};

}  // namespace hexad
