// Whether each code we admit survives every loss of m cells, proved on its matrix: a systematic
// code does exactly when every square part of its parity matrix is invertible (MacWilliams and
// Sloane, The Theory of Error-Correcting Codes, chapter 11, theorem 8).
#include <catch2/catch.hpp>

#include "ec/isal.h"
#include "ec/jerasure.h"
#include "ec/matrix.h"
#include "ec/profile.h"
#include "tests/ec/naive.h"

using namespace hexad::ec;

namespace {

bool invertible_part(const Matrix& parity, ShardSet rows, ShardSet columns) {
  Matrix part(rows.size(), rows.size());
  std::uint32_t r = 0;
  for (ShardIndex row : rows) {
    std::uint32_t c = 0;
    for (ShardIndex column : columns) part.at(r, c++) = parity.at(row, column);
    ++r;
  }
  return inverse(std::move(part)).has_value();
}

// With `last_column_only`, looks only at parts that use it: the rest is the matrix one shorter,
// which holds for generators whose columns do not depend on k.
bool is_mds(const Matrix& parity, bool last_column_only) {
  bool good = true;
  naive::each_subset(parity.rows, parity.rows, [&](ShardSet rows) {
    if (rows.empty() || !good) return;
    const std::uint32_t fixed = last_column_only ? 1 : 0;
    naive::each_subset(parity.columns - fixed, rows.size() - fixed, [&](ShardSet columns) {
      if (columns.size() != rows.size() - fixed || !good) return;
      if (last_column_only) columns.add(parity.columns - 1);
      good = invertible_part(parity, rows, columns);
    });
  });
  return good;
}

}  // namespace

TEST_CASE("mds: ISA-L's Vandermonde is admitted exactly where every loss can be rebuilt") {
  for (std::uint32_t m = 1; m <= kMaxParityShards; ++m) {
    bool good = true;
    for (std::uint32_t k = 1; k <= kMaxDataShards; ++k) {
      good = good && is_mds(isal_vandermonde(k, m), true);
      CAPTURE(k, m);
      REQUIRE(isa_vandermonde_is_mds(k, m) == good);
    }
  }
}

TEST_CASE("mds: the other codes survive every loss, tried to 12+4 and 8+8") {
  for (std::uint32_t m = 1; m <= kMaxParityShards; ++m) {
    for (std::uint32_t k = 1; k <= (m <= 4 ? 12U : 8U); ++k) {
      CAPTURE(k, m);
      REQUIRE(is_mds(isal_cauchy(k, m), false));
      REQUIRE(is_mds(jerasure_matrix(CodecKind::kJerasureVandermonde, k, m), false));
      REQUIRE(is_mds(jerasure_matrix(CodecKind::kJerasureCauchyGood, k, m), false));
      REQUIRE(is_mds(jerasure_matrix(CodecKind::kJerasureCauchyOrig, k, m), false));
    }
  }
  for (std::uint32_t k = 1; k <= kMaxDataShards; ++k) {
    REQUIRE(is_mds(jerasure_matrix(CodecKind::kJerasureRaid6, k, 2), false));
  }
}
