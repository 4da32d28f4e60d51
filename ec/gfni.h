// Coding by the processor's instructions for GF(2) (GFNI): a product with a constant of the field
// is a matrix of 8 x 8 bits applied to each byte, which takes one instruction for a whole vector
// and serves any polynomial.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "ec/kernel.h"
#include "ec/matrix.h"

namespace hexad::ec {

// Bits of the vectors that are worked on.
enum class GfniWidth : std::uint16_t { k256 = 256, k512 = 512 };

// Returns whether this processor, under this operating system, has the instructions for it.
bool has_gfni(GfniWidth width);
// Returns the widest that this processor has.
std::optional<GfniWidth> widest_gfni();

// Any length and any place; one pass over the sources for 8 rows (512) or 4 (256).
//
// Precondition: has_gfni(width).
std::unique_ptr<Program> make_gfni_program(const Matrix& matrix, GfniWidth width);

}  // namespace hexad::ec
