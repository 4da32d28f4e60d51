// The field GF(2^8) with the polynomial x^8 + x^4 + x^3 + x^2 + 1 (0x11d), for the few products
// that finding coefficients takes. Coding itself runs in the kernels.
#pragma once

#include <array>
#include <cstdint>

namespace hexad::ec {

namespace gf256_internal {

struct Tables {
  std::array<std::uint8_t, 512> power{};  // 2^i, twice over so that sums of logs need no modulo
  std::array<std::uint16_t, 256> log{};   // of 1 to 255
};

constexpr Tables make_tables() {
  Tables tables;
  unsigned value = 1;
  for (unsigned i = 0; i < 255; ++i) {
    tables.power[i] = tables.power[i + 255] = static_cast<std::uint8_t>(value);
    tables.log[value] = static_cast<std::uint16_t>(i);
    value <<= 1;
    if (value & 0x100) value ^= 0x11d;
  }
  return tables;
}

inline constexpr Tables kTables = make_tables();

}  // namespace gf256_internal

// Addition and subtraction are both ^.
constexpr std::uint8_t gf_multiply(std::uint8_t a, std::uint8_t b) {
  using gf256_internal::kTables;
  return a == 0 || b == 0 ? std::uint8_t{0} : kTables.power[kTables.log[a] + kTables.log[b]];
}

// Precondition: a is not 0.
constexpr std::uint8_t gf_inverse(std::uint8_t a) {
  using gf256_internal::kTables;
  return kTables.power[255 - kTables.log[a]];
}

}  // namespace hexad::ec
