#include "ec/isal.h"

#include <isa-l.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/assert.h"
#include "ec/gf256.h"
#include "ec/profile.h"

namespace hexad::ec {
namespace {

// ISA-L takes lengths as int.
constexpr std::size_t kPieceBytes = std::size_t{1} << 30;
// Both the pointers and the lengths that the RAID functions accept are multiples of this.
constexpr std::size_t kRaidAlignment = 32;
// Bytes of table that ec_encode_data reads per coefficient.
constexpr std::size_t kTableBytes = 32;

enum class Shape { kGeneral, kXor, kXorAndQ };

Shape shape_of(const Matrix& matrix) {
  // The RAID functions want two sources at least.
  if (matrix.columns < 2 || matrix.rows > 2) return Shape::kGeneral;
  std::uint8_t power = 1;
  for (std::uint32_t c = 0; c < matrix.columns; ++c) {
    if (matrix.at(0, c) != 1) return Shape::kGeneral;
    if (matrix.rows == 2 && matrix.at(1, c) != power) return Shape::kGeneral;
    power = gf_multiply(power, 2);
  }
  return matrix.rows == 1 ? Shape::kXor : Shape::kXorAndQ;
}

class IsalProgram : public Program {
 public:
  explicit IsalProgram(const Matrix& matrix)
      : rows_(matrix.rows), columns_(matrix.columns), shape_(shape_of(matrix)) {
    HEXAD_ASSERT(rows_ > 0 && rows_ <= kMaxShards && columns_ > 0 && columns_ <= kMaxShards);
    tables_.resize(kTableBytes * rows_ * columns_);
    std::vector<unsigned char> coefficients(matrix.cells.begin(), matrix.cells.end());
    ec_init_tables(static_cast<int>(columns_), static_cast<int>(rows_), coefficients.data(),
                   tables_.data());
  }

  void run(const std::byte* const* sources, std::byte* const* outputs,
           std::size_t length) const override {
    // The library declares its sources without const and does not write to them.
    std::array<unsigned char*, 2 * kMaxShards> pointers;
    std::uintptr_t address_bits = 0;
    for (std::uint32_t c = 0; c < columns_; ++c) {
      pointers[c] = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(sources[c]));
      address_bits |= reinterpret_cast<std::uintptr_t>(sources[c]);
    }
    for (std::uint32_t r = 0; r < rows_; ++r) {
      pointers[columns_ + r] = reinterpret_cast<unsigned char*>(outputs[r]);
      address_bits |= reinterpret_cast<std::uintptr_t>(outputs[r]);
    }
    const bool raid = shape_ != Shape::kGeneral && address_bits % kRaidAlignment == 0;
    while (length > 0) {
      const std::size_t piece = std::min(length, kPieceBytes);
      const std::size_t done = raid && piece >= kRaidAlignment
                                   ? run_raid(pointers.data(), piece)
                                   : run_general(pointers.data(), piece);
      length -= done;
      for (std::uint32_t i = 0; i < columns_ + rows_; ++i) pointers[i] += done;
    }
  }

 private:
  // Bytes done: all whole units of kRaidAlignment, the rest is for the next turn.
  std::size_t run_raid(unsigned char** pointers, std::size_t length) const {
    const std::size_t done = length / kRaidAlignment * kRaidAlignment;
    const int vectors = static_cast<int>(columns_ + rows_);
    void** array = reinterpret_cast<void**>(pointers);
    const int failed = shape_ == Shape::kXor ? xor_gen(vectors, static_cast<int>(done), array)
                                             : pq_gen(vectors, static_cast<int>(done), array);
    // Their only failures are too few vectors or a length that is not aligned.
    HEXAD_ASSERT(failed == 0);
    return done;
  }

  std::size_t run_general(unsigned char** pointers, std::size_t length) const {
    ec_encode_data(static_cast<int>(length), static_cast<int>(columns_), static_cast<int>(rows_),
                   const_cast<unsigned char*>(tables_.data()), pointers, pointers + columns_);
    return length;
  }

  std::uint32_t rows_;
  std::uint32_t columns_;
  Shape shape_;
  std::vector<unsigned char> tables_;
};

// The library's generators write the k x k identity first, then the parity rows.
Matrix parity_rows(const std::vector<unsigned char>& generator, std::uint32_t k, std::uint32_t m) {
  Matrix matrix(m, k);
  std::copy(generator.begin() + std::size_t{k} * k, generator.end(), matrix.cells.begin());
  return matrix;
}

}  // namespace

Matrix isal_vandermonde(std::uint32_t k, std::uint32_t m) {
  std::vector<unsigned char> generator(std::size_t{k + m} * k);
  gf_gen_rs_matrix(generator.data(), static_cast<int>(k + m), static_cast<int>(k));
  return parity_rows(generator, k, m);
}

Matrix isal_cauchy(std::uint32_t k, std::uint32_t m) {
  std::vector<unsigned char> generator(std::size_t{k + m} * k);
  gf_gen_cauchy1_matrix(generator.data(), static_cast<int>(k + m), static_cast<int>(k));
  return parity_rows(generator, k, m);
}

bool is_raid(const Matrix& matrix) { return shape_of(matrix) != Shape::kGeneral; }

std::unique_ptr<Program> make_isal_program(const Matrix& matrix) {
  return std::make_unique<IsalProgram>(matrix);
}

}  // namespace hexad::ec
