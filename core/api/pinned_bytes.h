// An object's bytes as the read cache has them, without a copy.
#pragma once

#include <memory>
#include <utility>

#include "base/bytes.h"

namespace hexad {

// They stay as they are for as long as this or a copy of it lives, whatever becomes of the object
// and of the store. Once the cache has let go of them, it counts their memory no more.
class PinnedBytes {
 public:
  PinnedBytes(ByteView bytes, std::shared_ptr<const void> owner)
      : bytes_(bytes), owner_(std::move(owner)) {}
  ByteView bytes() const { return bytes_; }

 private:
  ByteView bytes_;
  std::shared_ptr<const void> owner_;
};

}  // namespace hexad
