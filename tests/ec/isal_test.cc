#include "ec/isal.h"

#include "tests/ec/program_suite.h"

namespace hexad::ec {
namespace {

TEST_CASE("isal: any matrix is applied as sums of products, at any length and place") {
  testing::check_program(make_isal_program, GENERATE(range(1, 60)));
}

TEST_CASE("isal: the first rows of Vandermonde are those of RAID 6") {
  // P and Q, which have functions of their own.
  for (std::uint32_t k = 1; k <= 20; ++k) {
    for (const std::uint32_t m : {1u, 2u, 3u}) {
      const Matrix matrix = isal_vandermonde(k, m);
      for (std::uint32_t c = 0; c < k; ++c) {
        CAPTURE(k, m, c);
        REQUIRE(matrix.at(0, c) == 1);
        std::uint8_t power = 1;
        for (std::uint32_t i = 0; i < c; ++i) power = naive::multiply(power, 2);
        if (m > 1) REQUIRE(matrix.at(1, c) == power);
      }
    }
  }
}

}  // namespace
}  // namespace hexad::ec
