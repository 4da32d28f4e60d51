// Extents, blobs and places that tests write out by hand.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/record/log_record.h"
#include "core/record/record.h"

namespace hexad::core {

inline Extent inline_extent(std::uint64_t offset, std::string bytes) {
  Extent extent;
  extent.offset = offset;
  extent.length = bytes.size();
  extent.bytes = std::move(bytes);
  return extent;
}
inline Extent inline_extent(std::uint64_t offset, std::size_t size) {
  return inline_extent(offset, std::string(size, 'x'));
}

// A private blob at offset 0, in 4 cells of 16 KiB and two of parity.
inline Extent extent_of_64_kib() {
  Extent extent;
  extent.length = 64 << 10;
  extent.blob.where = {17, 40'000, 4};
  extent.blob.cell_bytes = 16 << 10;
  extent.blob.raw = extent.blob.stored = 64 << 10;
  extent.blob.cell_sums = {0xdeadbeef, 1, 2, 0xffffffff, 4, 5};
  return extent;
}

// `size`: bytes, stored raw.
inline Blob unplaced_blob(LogPlace place, std::uint32_t size, std::uint64_t sum) {
  Blob blob;
  blob.placement = Placement::kLog;
  blob.log = place;
  blob.raw = blob.stored = size;
  blob.cell_sums = {sum};
  return blob;
}

struct InPack {
  std::uint32_t cell = 0;
  std::uint32_t offset = 0;  // bytes, in the cell
};
// `stripe`: where the pack stripe begins; no units.
inline UnplacedPlace packed_place(LogPlace from, std::uint32_t stored, alloc::Extent stripe,
                                  InPack at) {
  UnplacedPlace place;
  place.from = from;
  place.stored = stored;
  place.where = stripe;
  place.cell = at.cell;
  place.cell_offset = at.offset;
  return place;
}
// Cells of `cell_bytes` in a stripe of the blob's own, one sum for each.
inline UnplacedPlace private_place(LogPlace from, std::uint32_t stored, alloc::Extent stripe,
                                   std::uint32_t cell_bytes, SumList cell_sums) {
  UnplacedPlace place;
  place.from = from;
  place.placement = Placement::kPrivate;
  place.stored = stored;
  place.where = stripe;
  place.cell_bytes = cell_bytes;
  place.cell_sums = std::move(cell_sums);
  return place;
}

}  // namespace hexad::core
