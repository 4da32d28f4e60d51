#include "ec/gf256.h"

#include <catch2/catch.hpp>

#include "tests/ec/naive.h"

using namespace hexad::ec;

TEST_CASE("gf256: every product and every inverse is that of plain polynomial arithmetic") {
  int wrong = 0;
  for (unsigned a = 0; a < 256; ++a) {
    for (unsigned b = 0; b < 256; ++b) {
      const auto x = static_cast<std::uint8_t>(a);
      const auto y = static_cast<std::uint8_t>(b);
      wrong += gf_multiply(x, y) != naive::multiply(x, y);
    }
    if (a > 0) {
      const auto x = static_cast<std::uint8_t>(a);
      wrong += naive::multiply(x, gf_inverse(x)) != 1;
    }
  }
  CHECK(wrong == 0);
}
