// Arithmetic of crc32c: polynomials over GF(2) modulo Castagnoli's, 32 bits each, of which the
// highest is the coefficient of 1 and the next one that of x. For constants made while compiling.
#pragma once

#include <cstdint>

namespace hexad::crc32c_math {

constexpr std::uint32_t kPolynomial = 0x82f63b78;
constexpr std::uint32_t kOne = 0x80000000;

constexpr std::uint32_t times_x(std::uint32_t a) {
  return (a >> 1) ^ ((a & 1) != 0 ? kPolynomial : 0);
}

// The polynomial begins with a 1, so the highest bit tells whether times_x() added it.
constexpr std::uint32_t divided_by_x(std::uint32_t a) {
  return (a & kOne) != 0 ? (a ^ kPolynomial) << 1 | 1 : a << 1;
}

constexpr std::uint32_t product(std::uint32_t a, std::uint32_t b) {
  std::uint32_t sum = 0;
  for (unsigned power = 0; power < 32; ++power) {
    sum ^= b & -(a >> 31);
    a <<= 1;
    b = times_x(b);
  }
  return sum;
}

// x to the power of `exponent`, negative ones as well.
constexpr std::uint32_t power_of_x(int exponent) {
  std::uint32_t power = kOne;
  for (; exponent > 0; --exponent) power = times_x(power);
  for (; exponent < 0; ++exponent) power = divided_by_x(power);
  return power;
}

}  // namespace hexad::crc32c_math
