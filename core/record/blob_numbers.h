// Numbers the blobs of a list of extents, in the order in which the list first shows them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/short_list.h"
#include "core/record/record.h"

namespace hexad::core {

// One thread. A number costs O(1); few blobs take no memory besides.
class BlobNumbers {
 public:
  struct Number {
    std::size_t number = 0;  // 0, 1, 2 ...
    bool is_new = false;     // the first time that the blob is asked for
  };
  Number of(const BlobId& id);

 private:
  static constexpr std::size_t kFew = 8;
  std::size_t slot_of(const BlobId& id) const;
  void grow();

  ShortList<BlobId, kFew> ids_;  // by number
  // Open addressing by hash: number + 1, or 0. Empty while a walk over `ids_` is cheaper. At most
  // half full, a power of two long.
  std::vector<std::uint32_t> slots_;
};

}  // namespace hexad::core
