#include "ec/matrix.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "ec/gf256.h"

namespace hexad::ec {
namespace {

// row[i] ^= factor * from[i]
void add_row(Matrix& matrix, std::uint32_t row, std::uint32_t from, std::uint8_t factor) {
  for (std::uint32_t c = 0; c < matrix.columns; ++c) {
    matrix.at(row, c) ^= gf_multiply(factor, matrix.at(from, c));
  }
}

void scale_row(Matrix& matrix, std::uint32_t row, std::uint8_t factor) {
  for (std::uint32_t c = 0; c < matrix.columns; ++c) {
    matrix.at(row, c) = gf_multiply(factor, matrix.at(row, c));
  }
}

void swap_rows(Matrix& matrix, std::uint32_t a, std::uint32_t b) {
  for (std::uint32_t c = 0; c < matrix.columns; ++c) std::swap(matrix.at(a, c), matrix.at(b, c));
}

ShardSet lowest(ShardSet set, std::uint32_t count) {
  ShardSet result;
  for (ShardIndex i : set) {
    if (result.size() == count) break;
    result.add(i);
  }
  return result;
}

}  // namespace

std::optional<Matrix> inverse(Matrix matrix) {
  HEXAD_ASSERT(matrix.rows == matrix.columns);
  const std::uint32_t n = matrix.rows;
  Matrix result(n, n);
  for (std::uint32_t i = 0; i < n; ++i) result.at(i, i) = 1;
  // Gauss and Jordan: whatever turns the matrix into the identity turns the identity into the
  // inverse.
  for (std::uint32_t column = 0; column < n; ++column) {
    std::uint32_t pivot = column;
    while (pivot < n && matrix.at(pivot, column) == 0) ++pivot;
    if (pivot == n) return std::nullopt;
    if (pivot != column) {
      swap_rows(matrix, pivot, column);
      swap_rows(result, pivot, column);
    }
    const std::uint8_t scale = gf_inverse(matrix.at(column, column));
    scale_row(matrix, column, scale);
    scale_row(result, column, scale);
    for (std::uint32_t row = 0; row < n; ++row) {
      const std::uint8_t factor = matrix.at(row, column);
      if (row == column || factor == 0) continue;
      add_row(matrix, row, column, factor);
      add_row(result, row, column, factor);
    }
  }
  return result;
}

std::optional<Recovery> plan_recovery(const Matrix& parity, ShardSet present, ShardSet wanted) {
  const std::uint32_t k = parity.columns;
  HEXAD_ASSERT((present & wanted).empty() && present.size() >= k);

  Recovery recovery;
  recovery.sources = lowest(present, k);
  const ShardSet data = ShardSet::first(k);
  const ShardSet absent_data = data - recovery.sources;
  const ShardSet parity_sources = recovery.sources - data;
  const std::uint32_t absent_count = absent_data.size();
  HEXAD_ASSERT(parity_sources.size() == absent_count);

  // With D the data at hand, X the absent data and S the parity at hand: S = A D + B X, hence
  // X = B^-1 (S - A D). Row i of `solved` gives absent data shard i over the columns of sources.
  Matrix solved(absent_count, k);
  if (absent_count > 0) {
    Matrix b(absent_count, absent_count);
    std::uint32_t row = 0;
    for (ShardIndex s : parity_sources) {
      std::uint32_t column = 0;
      for (ShardIndex x : absent_data) b.at(row, column++) = parity.at(s - k, x);
      ++row;
    }
    const std::optional<Matrix> b_inverse = inverse(std::move(b));
    if (!b_inverse) return std::nullopt;
    for (std::uint32_t i = 0; i < absent_count; ++i) {
      std::uint32_t column = 0;
      for (ShardIndex source : recovery.sources) {
        std::uint8_t sum = 0;
        if (data.contains(source)) {
          std::uint32_t j = 0;
          for (ShardIndex s : parity_sources) {
            sum ^= gf_multiply(b_inverse->at(i, j++), parity.at(s - k, source));
          }
        } else {
          sum = b_inverse->at(i, column - (k - absent_count));  // parity comes after the data
        }
        solved.at(i, column++) = sum;
      }
    }
  }

  recovery.coefficients = Matrix(wanted.size(), k);
  std::uint32_t row = 0;
  for (ShardIndex shard : wanted) {
    // A data shard is 1 times itself; a parity shard is its row of the code.
    const auto weight = [&](ShardIndex d) {
      return shard < k ? static_cast<std::uint8_t>(d == shard) : parity.at(shard - k, d);
    };
    std::uint32_t column = 0;
    for (ShardIndex source : recovery.sources) {
      std::uint8_t sum = data.contains(source) ? weight(source) : std::uint8_t{0};
      std::uint32_t i = 0;
      for (ShardIndex x : absent_data) sum ^= gf_multiply(weight(x), solved.at(i++, column));
      recovery.coefficients.at(row, column++) = sum;
    }
    ++row;
  }
  return recovery;
}

}  // namespace hexad::ec
