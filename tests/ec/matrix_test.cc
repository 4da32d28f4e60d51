#include "ec/matrix.h"

#include <catch2/catch.hpp>

#include "ec/gf256.h"
#include "ec/isal.h"
#include "ec/jerasure.h"
#include "tests/ec/naive.h"

using namespace hexad::ec;

namespace {

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix result(a.rows, b.columns);
  for (std::uint32_t i = 0; i < a.rows; ++i) {
    for (std::uint32_t j = 0; j < b.columns; ++j) {
      for (std::uint32_t x = 0; x < a.columns; ++x) {
        result.at(i, j) ^= naive::multiply(a.at(i, x), b.at(x, j));
      }
    }
  }
  return result;
}

Matrix identity(std::uint32_t n) {
  Matrix result(n, n);
  for (std::uint32_t i = 0; i < n; ++i) result.at(i, i) = 1;
  return result;
}

}  // namespace

TEST_CASE("matrix: a matrix times its inverse is the identity, and singular ones have none") {
  const std::uint64_t seed = GENERATE(1, 2, 3);
  CAPTURE(seed);
  naive::Noise noise(seed);
  for (std::uint32_t n = 1; n <= 12; ++n) {
    for (int round = 0; round < 20; ++round) {
      Matrix matrix(n, n);
      // Few different values, so that zero pivots and singular matrices are common.
      for (auto& cell : matrix.cells) cell = static_cast<std::uint8_t>(noise.below(4));
      const auto found = inverse(matrix);
      if (found) {
        REQUIRE(product(matrix, *found) == identity(n));
        REQUIRE(product(*found, matrix) == identity(n));
      }
      Matrix twice = matrix;  // a row that is a multiple of another
      if (n == 1) {
        twice.at(0, 0) = 0;
      } else {
        for (std::uint32_t c = 0; c < n; ++c) {
          twice.at(n - 1, c) = naive::multiply(7, twice.at(0, c));
        }
      }
      REQUIRE_FALSE(inverse(twice).has_value());
    }
  }
}

TEST_CASE("matrix: the libraries' generators are the published ones") {
  for (std::uint32_t k = 1; k <= kMaxDataShards; ++k) {
    for (std::uint32_t m = 1; m <= kMaxParityShards; ++m) {
      CAPTURE(k, m);
      const auto published = [&](CodecKind kind) {
        return naive::parity_matrix(Profile{k, m, kind, 0});
      };
      REQUIRE(isal_vandermonde(k, m) == published(CodecKind::kIsaVandermonde));
      REQUIRE(isal_cauchy(k, m) == published(CodecKind::kIsaCauchy));
      REQUIRE(jerasure_matrix(CodecKind::kJerasureVandermonde, k, m) ==
              published(CodecKind::kJerasureVandermonde));
      REQUIRE(jerasure_matrix(CodecKind::kJerasureCauchyOrig, k, m) ==
              published(CodecKind::kJerasureCauchyOrig));
      if (m == 2) {
        REQUIRE(jerasure_matrix(CodecKind::kJerasureRaid6, k, m) ==
                published(CodecKind::kJerasureRaid6));
      }
    }
  }
}

TEST_CASE("matrix: a recovery uses the k lowest shards and yields one row per wanted shard") {
  const Matrix parity = isal_vandermonde(4, 2);
  const auto recovery = plan_recovery(parity, ShardSet{0, 2, 3, 4, 5}, ShardSet{1});
  REQUIRE(recovery);
  CHECK(recovery->sources == ShardSet{0, 2, 3, 4});
  CHECK(recovery->coefficients.rows == 1);
  // With P at hand a single data shard is plain XOR.
  CHECK(recovery->coefficients.cells == std::vector<std::uint8_t>{1, 1, 1, 1});
}

TEST_CASE("matrix: shards that do not determine the others are reported, not guessed") {
  // 22+4 Vandermonde has a singular part; some loss of four data shards must be found out.
  const Matrix parity = isal_vandermonde(22, 4);
  std::uint32_t refused = 0;
  naive::each_subset(26, 4, [&](ShardSet lost) {
    refused += !plan_recovery(parity, ShardSet::first(26) - lost, lost).has_value();
  });
  CHECK(refused > 0);
}
