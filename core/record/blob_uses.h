// How much of its blobs a list of extents shows: what small writes into large pieces leave behind
// is stored, and nobody sees it. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "core/record/record.h"

namespace hexad::core {

// A blob of a list.
struct BlobUse {
  const Blob* blob = nullptr;  // into the list
  std::uint64_t shown = 0;     // of its user bytes

  // Of its stored bytes, about: compressed ones are taken to be spread evenly.
  std::uint64_t hidden() const;
};

// The blobs that the list shows a part of and clones do not share, by ascending id. O(n log n).
std::vector<BlobUse> blob_uses(const ExtentList& extents);

// Of the blobs among these that are shown in part.
struct HiddenBytes {
  std::uint64_t of = 0;      // as stored
  std::uint64_t hidden = 0;  // of those, about
  bool operator==(const HiddenBytes&) const = default;
};
HiddenBytes hidden_bytes(const ExtentList& extents);

}  // namespace hexad::core
