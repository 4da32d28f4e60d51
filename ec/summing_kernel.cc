#include "ec/summing_kernel.h"

#include <immintrin.h>

#include <array>
#include <vector>

#include "base/assert.h"
#include "base/crc32c_folding.h"
#include "ec/gfni.h"
#include "ec/gfni_matrices.h"
#include "ec/profile.h"

namespace hexad::ec {
namespace {

// Only functions with these attributes have the instructions: all other code runs everywhere.
#define HEXAD_SUMMING __attribute__((target("avx,avx2,avx512f,avx512bw,gfni,pclmul,vpclmulqdq")))

constexpr std::uint32_t kMostRows = 4;
// What is written is asked for so many bytes before: a store that has to wait for its line holds up
// those behind it, and there are k+m places to write to.
constexpr std::size_t kAhead = 512;

// A matrix, and what is summed and coded where.
struct Walk {
  const std::uint64_t* matrices;  // those of the rows for the first column, the second, ...
  std::uint32_t columns;
  const std::byte* const* sources;
  std::byte* const* copies;
  std::byte* const* outputs;
  std::uint32_t* sums;  // of the copies, then of the outputs
};

// The sums so far; see crc32c_folding.h.
struct Folds {
  __m512i copies[kMaxDataShards];
  __m512i outputs[kMostRows];
};

template <std::size_t kVectors>
HEXAD_SUMMING inline void load_and_copy(const Walk& walk, std::uint32_t column, std::size_t at,
                                        __m512i (&bytes)[kVectors]) {
  for (std::size_t v = 0; v < kVectors; ++v) {
    const std::size_t place = at + 64 * v;
    bytes[v] = _mm512_loadu_si512(walk.sources[column] + place);
    // The compiler may not load it again for another use: somebody may have changed it by then.
    asm volatile("" : "+v"(bytes[v]));
    __builtin_prefetch(walk.copies[column] + place + kAhead, 1, 3);
    _mm512_storeu_si512(walk.copies[column] + place, bytes[v]);
  }
}

template <std::size_t kVectors>
HEXAD_SUMMING inline __m512i fold_all(__m512i so_far, __m512i factors,
                                      const __m512i (&bytes)[kVectors]) {
  for (std::size_t v = 0; v < kVectors; ++v) {
    so_far = crc32c_folding::folded(so_far, factors, bytes[v]);
  }
  return so_far;
}

HEXAD_SUMMING inline __m512i product(__m512i bytes, std::uint64_t matrix) {
  return _mm512_gf2p8affine_epi64_epi8(bytes, _mm512_set1_epi64(static_cast<long long>(matrix)), 0);
}

template <std::size_t kRows, std::size_t kVectors, FirstRow kFirst>
HEXAD_SUMMING inline void step(const Walk& walk, std::size_t at, __m512i factors, Folds& folds) {
  __m512i rows[kRows][kVectors];
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) rows[r][v] = _mm512_setzero_si512();
  }
  // Two columns at a time, since one instruction adds three vectors.
  std::uint32_t c = 0;
  const std::uint64_t* matrices = walk.matrices;
  for (; c + 2 <= walk.columns; c += 2, matrices += 2 * kRows) {
    __m512i a[kVectors];
    __m512i b[kVectors];
    load_and_copy(walk, c, at, a);
    load_and_copy(walk, c + 1, at, b);
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t v = 0; v < kVectors; ++v) {
        const bool plain = kFirst == FirstRow::kSum && r == 0;
        rows[r][v] =
            _mm512_ternarylogic_epi64(rows[r][v], plain ? a[v] : product(a[v], matrices[r]),
                                      plain ? b[v] : product(b[v], matrices[kRows + r]), 0x96);
      }
    }
    folds.copies[c] = fold_all(folds.copies[c], factors, a);
    folds.copies[c + 1] = fold_all(folds.copies[c + 1], factors, b);
  }
  if (c < walk.columns) {
    __m512i a[kVectors];
    load_and_copy(walk, c, at, a);
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t v = 0; v < kVectors; ++v) {
        const bool plain = kFirst == FirstRow::kSum && r == 0;
        rows[r][v] = _mm512_xor_si512(rows[r][v], plain ? a[v] : product(a[v], matrices[r]));
      }
    }
    folds.copies[c] = fold_all(folds.copies[c], factors, a);
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      __builtin_prefetch(walk.outputs[r] + at + 64 * v + kAhead, 1, 3);
      _mm512_storeu_si512(walk.outputs[r] + at + 64 * v, rows[r][v]);
    }
    folds.outputs[r] = fold_all(folds.outputs[r], factors, rows[r]);
  }
}

template <std::size_t kRows, FirstRow kFirst>
HEXAD_SUMMING void run(const Walk& walk, std::size_t length) {
  constexpr std::size_t kVectors = 4;
  const __m512i factors = crc32c_folding::factors();
  Folds folds;
  for (std::uint32_t c = 0; c < walk.columns; ++c) {
    folds.copies[c] = crc32c_folding::before(walk.sums[c]);
  }
  for (std::uint32_t r = 0; r < kRows; ++r) {
    folds.outputs[r] = crc32c_folding::before(walk.sums[walk.columns + r]);
  }
  std::size_t at = 0;
  for (; at + 64 * kVectors <= length; at += 64 * kVectors) {
    step<kRows, kVectors, kFirst>(walk, at, factors, folds);
  }
  for (; at < length; at += 64) step<kRows, 1, kFirst>(walk, at, factors, folds);
  for (std::uint32_t c = 0; c < walk.columns; ++c) {
    walk.sums[c] = crc32c_folding::finish(folds.copies[c]);
  }
  for (std::uint32_t r = 0; r < kRows; ++r) {
    walk.sums[walk.columns + r] = crc32c_folding::finish(folds.outputs[r]);
  }
}

using Kernel = void (*)(const Walk&, std::size_t length);

// By the number of rows, less 1.
template <FirstRow kFirst>
constexpr std::array<Kernel, kMostRows> kKernels = {run<1, kFirst>, run<2, kFirst>, run<3, kFirst>,
                                                    run<4, kFirst>};

class GfniSummingProgram : public SummingProgram {
 public:
  explicit GfniSummingProgram(const Matrix& matrix) : columns_(matrix.columns) {
    HEXAD_ASSERT(columns_ > 0 && columns_ <= kMaxDataShards);
    bool sum = true;
    matrices_.reserve(matrix.cells.size());
    for (std::uint32_t c = 0; c < columns_; ++c) {
      sum = sum && matrix.at(0, c) == 1;
      for (std::uint32_t r = 0; r < matrix.rows; ++r) {
        matrices_.push_back(kBitMatrices[matrix.at(r, c)]);
      }
    }
    kernel_ = (sum ? kKernels<FirstRow::kSum> : kKernels<FirstRow::kAny>)[matrix.rows - 1];
  }

  void run(const std::byte* const* sources, std::byte* const* copies, std::byte* const* outputs,
           std::size_t length, std::uint32_t* sums) const override {
    HEXAD_ASSERT(length % kAlignment == 0);
    if (length == 0) return;
    kernel_({matrices_.data(), columns_, sources, copies, outputs, sums}, length);
  }

 private:
  std::uint32_t columns_;
  std::vector<std::uint64_t> matrices_;  // as in Walk
  Kernel kernel_;
};

}  // namespace

std::unique_ptr<SummingProgram> make_summing_program(const Matrix& matrix) {
  const bool fits = matrix.rows > 0 && matrix.rows <= kMostRows;
  if (!fits || !has_gfni(GfniWidth::k512) || !crc32c_folding::is_there()) return nullptr;
  return std::make_unique<GfniSummingProgram>(matrix);
}

}  // namespace hexad::ec
