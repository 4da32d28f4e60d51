// Where the bytes of a stripe lie: plain arithmetic, no I/O.
//
// A stripe has n = k+m cells of one length, at the same offset of n slots (one slab of a zone
// each). Role r (0 to k-1 data, k to n-1 parity) of a stripe sits at slot (r + rotation) mod n, so
// that parity, which is written on every change and read on none, is spread over all devices.
//
// The stored stream of a private stripe is cut into k consecutive parts: data cell r holds the
// bytes [r * cell, (r + 1) * cell), and what is beyond the stream's end is zero.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"

namespace hexad::ec {

// Streams up to this many bytes; the bound keeps all sums below in 64 bits.
inline constexpr std::uint64_t kMaxStreamBytes = std::uint64_t{1} << 50;

struct StripeGeometry {
  std::uint32_t k = 0;         // data cells, at least 1
  std::uint32_t m = 0;         // parity cells
  std::uint32_t rotation = 0;  // any number; only its remainder by k+m matters

  bool operator==(const StripeGeometry&) const = default;
  std::uint32_t cells() const { return k + m; }
};

// Preconditions: role (slot) below k+m. Inverse of one another.
std::uint32_t slot_of_role(const StripeGeometry& stripe, std::uint32_t role);
std::uint32_t role_of_slot(const StripeGeometry& stripe, std::uint32_t slot);

// Bytes of one cell: the stream divided by k, rounded up to whole blocks; 0 for an empty stream.
// Preconditions: k and block_bytes positive, stored_length <= kMaxStreamBytes, block_bytes <= 2^32.
std::uint64_t cell_bytes(std::uint64_t stored_length, std::uint32_t k, std::uint64_t block_bytes);

// One contiguous part of a range, inside one data cell.
struct CellPiece {
  std::uint32_t role = 0;           // which data cell, 0 to k-1
  std::uint64_t offset = 0;         // bytes from the start of that cell
  std::uint64_t length = 0;         // bytes, positive
  std::uint64_t stream_offset = 0;  // bytes from the start of the stream

  bool operator==(const CellPiece&) const = default;
};

// The pieces that hold [offset, offset + length) of the stream, in stream order, at most k.
// Errors: kInvalidArgument (the range passes the end of the last data cell).
Result<std::vector<CellPiece>> map_range(std::uint32_t k, std::uint64_t cell, std::uint64_t offset,
                                         std::uint64_t length);

}  // namespace hexad::ec
