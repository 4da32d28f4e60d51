// Small matrices over GF(2^8), and the coefficients that rebuild lost shards.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ec/shard_set.h"

namespace hexad::ec {

// Row after row.
struct Matrix {
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::vector<std::uint8_t> cells;

  Matrix() = default;
  Matrix(std::uint32_t row_count, std::uint32_t column_count)
      : rows(row_count), columns(column_count), cells(std::size_t{row_count} * column_count) {}
  std::uint8_t& at(std::uint32_t row, std::uint32_t column) {
    return cells[std::size_t{row} * columns + column];
  }
  std::uint8_t at(std::uint32_t row, std::uint32_t column) const {
    return cells[std::size_t{row} * columns + column];
  }
  bool operator==(const Matrix&) const = default;
};

// Nothing when there is no inverse. Precondition: square. Cost: O(rows^3).
std::optional<Matrix> inverse(Matrix matrix);

// How to compute some shards from k others: output r = sum over c of at(r, c) * source c.
struct Recovery {
  ShardSet sources;     // k members, in the order of the columns
  Matrix coefficients;  // one row per wanted shard, ascending
};

// `parity` is the code: m rows of k coefficients, shard k+i = sum of at(i, c) * shard c. The
// sources are the k members of `present` with the lowest indexes, so data before parity.
//
// Only the part of the code that stands for the absent data is inverted (as many rows as absent
// data shards, at most m), not the k x k matrix of all survivors: that makes it cheap enough to be
// done on every call, with no cache to share between threads.
//
// Nothing when the sources do not determine the wanted shards, which a code fit for use (see
// validate() in ec/profile.h) never does.
// Preconditions: k+m <= 64; present and wanted are disjoint, below k+m; present has k members.
std::optional<Recovery> plan_recovery(const Matrix& parity, ShardSet present, ShardSet wanted);

}  // namespace hexad::ec
