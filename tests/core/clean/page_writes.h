// A page as small writes into large ones leave it, and every byte of it as a model knows it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/record/object_extents.h"
#include "io/rng.h"
#include "tests/core/sample_records.h"

namespace hexad::core {

inline constexpr std::uint64_t kPageBytes = 64 << 10;  // of the tests

// Which blob is shown at a byte, and which byte of it.
struct ShownByte {
  BlobId blob = {};
  std::uint64_t at = 0;
  bool is_blob = false;
  bool operator==(const ShownByte&) const = default;
};

inline std::vector<ShownByte> bytes_of(const ExtentList& extents) {
  std::vector<ShownByte> bytes(kPageBytes);
  for (const Extent& extent : extents) {
    for (std::uint64_t i = 0; i < extent.length; ++i) {
      if (extent.is_inline()) continue;
      bytes[extent.offset + i] = {extent.blob.id(), extent.blob_offset + i, true};
    }
  }
  return bytes;
}

// Blob number `unit`, of one of the kinds that there are.
inline Blob random_blob(std::uint32_t unit, std::uint64_t length, io::Rng& rng) {
  Blob blob = extent_of_64_kib().blob;
  blob.where = {1, unit, static_cast<std::uint32_t>(1 + length / 16384)};
  blob.raw = static_cast<std::uint32_t>(length);
  blob.stored = blob.raw;
  if (rng.chance(1, 3)) {
    blob.placement = Placement::kPacked;
    blob.where.units = 0;
    blob.cell_bytes = 0;
    blob.cell_sums = {unit};
  }
  if (rng.chance(1, 8)) blob = unplaced_blob({unit, 0}, blob.raw, unit);
  if (rng.chance(1, 8)) blob.share = unit;
  if (rng.chance(1, 4)) blob.frames.algorithm = compression::Algorithm::kZstd;
  return blob;
}

// Writes of `unit` and on.
inline void write_at_random(ExtentList& extents, std::uint32_t& unit, std::uint64_t writes,
                            io::Rng& rng) {
  for (; writes > 0; --writes, ++unit) {
    const std::uint64_t longest = rng.chance(1, 4) ? kPageBytes : 4096;
    const std::uint64_t offset = rng.below(kPageBytes - 1);
    const std::uint64_t length =
        1 + rng.below(std::min<std::uint64_t>(longest, kPageBytes - offset));
    punch(extents, offset, length);
    if (rng.chance(1, 10)) continue;  // a hole
    if (rng.chance(1, 10) && length <= kInlineLimit) {
      insert(extents, inline_extent(offset, length));
      continue;
    }
    Extent extent;
    extent.offset = offset;
    extent.length = length;
    extent.blob = random_blob(unit, length, rng);
    insert(extents, std::move(extent));
  }
}

}  // namespace hexad::core
