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
  void add(const BlobUse& use);
  bool operator==(const HiddenBytes&) const = default;
};
HiddenBytes hidden_bytes(const ExtentList& extents);

// Of the blobs that the list shows whole, in stripes of their own that they fill to no more than
// fifteen sixteenths: `of` is what these stripes take, `hidden` what they leave empty. A stripe
// takes `stripe_bytes` for each of its units.
inline constexpr std::uint32_t kMostFilled = 960;  // of 1024 parts
HiddenBytes spare_bytes(const ExtentList& extents, std::uint64_t stripe_bytes);
// Whether a blob of so many stored bytes fills no more of its stripe than so many of 1024 parts.
constexpr bool is_lone(std::uint64_t stored, std::uint64_t stripe, std::uint32_t most_filled) {
  return stored * 1024 <= stripe * most_filled;
}

}  // namespace hexad::core
