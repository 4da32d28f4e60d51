#include "ec/stripe_layout.h"

#include <algorithm>
#include <string>

#include "base/assert.h"
#include "base/units.h"

namespace hexad::ec {

std::uint32_t slot_of_role(const StripeGeometry& stripe, std::uint32_t role) {
  const std::uint32_t n = stripe.cells();
  HEXAD_ASSERT(role < n);
  return (role + stripe.rotation % n) % n;
}

std::uint32_t role_of_slot(const StripeGeometry& stripe, std::uint32_t slot) {
  const std::uint32_t n = stripe.cells();
  HEXAD_ASSERT(slot < n);
  return (slot + n - stripe.rotation % n) % n;
}

std::uint64_t cell_bytes(std::uint64_t stored_length, std::uint32_t k, std::uint64_t block_bytes) {
  HEXAD_ASSERT(k > 0 && block_bytes > 0 && stored_length <= kMaxStreamBytes &&
               block_bytes <= std::uint64_t{1} << 32);
  return round_up(divide_up(stored_length, k), block_bytes);
}

Result<std::vector<CellPiece>> map_range(std::uint32_t k, std::uint64_t cell, std::uint64_t offset,
                                         std::uint64_t length) {
  // k * cell is not computed before both are known to be small.
  if (k == 0 || cell > kMaxStreamBytes || k > 1024 || offset > k * cell ||
      length > k * cell - offset) {
    return Error{ErrorCode::kInvalidArgument,
                 "stripe of " + std::to_string(k) + " data cells of " + std::to_string(cell) +
                     " B: range at " + std::to_string(offset) + " of " + std::to_string(length) +
                     " B passes its end",
                 ""};
  }
  std::vector<CellPiece> pieces;
  while (length > 0) {
    CellPiece piece;
    piece.role = static_cast<std::uint32_t>(offset / cell);
    piece.offset = offset % cell;
    piece.length = std::min(length, cell - piece.offset);
    piece.stream_offset = offset;
    pieces.push_back(piece);
    offset += piece.length;
    length -= piece.length;
  }
  return pieces;
}

}  // namespace hexad::ec
