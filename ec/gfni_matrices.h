// Products with the constants of the field, as the processor's instruction for them wants them.
#pragma once

#include <array>
#include <cstdint>

#include "ec/gf256.h"

namespace hexad::ec {

// The product with `factor` as the matrix that GF2P8AFFINEQB takes: bit i of a result is the parity
// of byte 7-i of the matrix and the operand.
constexpr std::uint64_t bit_matrix(std::uint8_t factor) {
  std::uint64_t matrix = 0;
  for (unsigned column = 0; column < 8; ++column) {
    const std::uint8_t product = gf_multiply(factor, static_cast<std::uint8_t>(1u << column));
    for (unsigned row = 0; row < 8; ++row) {
      if ((product >> row & 1) != 0) matrix |= std::uint64_t{1} << (8 * (7 - row) + column);
    }
  }
  return matrix;
}

constexpr std::array<std::uint64_t, 256> make_bit_matrices() {
  std::array<std::uint64_t, 256> matrices{};
  for (unsigned factor = 0; factor < 256; ++factor) {
    matrices[factor] = bit_matrix(static_cast<std::uint8_t>(factor));
  }
  return matrices;
}

inline constexpr std::array<std::uint64_t, 256> kBitMatrices = make_bit_matrices();

// Whether the first of some rows is the sum of the sources, which takes no product.
enum class FirstRow : std::uint8_t { kSum, kAny };

}  // namespace hexad::ec
