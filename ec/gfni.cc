#include "ec/gfni.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/assert.h"
#include "ec/gfni_matrices.h"
#include "ec/profile.h"

namespace hexad::ec {
namespace {

// Only functions with these attributes have the instructions: all other code runs everywhere.
#define HEXAD_GFNI_256 __attribute__((target("avx,avx2,gfni")))
#define HEXAD_GFNI_512 __attribute__((target("avx,avx2,avx512f,avx512bw,gfni")))

// Some rows of a matrix and where their results go.
struct Rows {
  const std::uint64_t* matrices;  // those of the rows for the first column, the second, ...
  std::uint32_t columns;
  const std::byte* const* sources;
  std::byte* const* outputs;
  std::size_t length;
};

using Kernel = void (*)(const Rows&);

HEXAD_GFNI_512 inline __m512i product(__m512i bytes, std::uint64_t matrix) {
  return _mm512_gf2p8affine_epi64_epi8(bytes, _mm512_set1_epi64(static_cast<long long>(matrix)), 0);
}

// `kVectors` vectors of each row, of which only the bytes in `mask` are there.
template <std::size_t kRows, std::size_t kVectors, FirstRow kFirst>
HEXAD_GFNI_512 inline void step_512(const Rows& rows, std::size_t at, __mmask64 mask) {
  constexpr bool kSum = kFirst == FirstRow::kSum;
  __m512i sums[kRows][kVectors];
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = _mm512_setzero_si512();
  }
  // Two columns at a time, since one instruction adds three vectors.
  std::uint32_t c = 0;
  const std::uint64_t* matrices = rows.matrices;
  for (; c + 2 <= rows.columns; c += 2, matrices += 2 * kRows) {
    __m512i a[kVectors];
    __m512i b[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) {
      a[v] = _mm512_maskz_loadu_epi8(mask, rows.sources[c] + at + 64 * v);
      b[v] = _mm512_maskz_loadu_epi8(mask, rows.sources[c + 1] + at + 64 * v);
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t v = 0; v < kVectors; ++v) {
        const bool plain = kSum && r == 0;
        sums[r][v] =
            _mm512_ternarylogic_epi64(sums[r][v], plain ? a[v] : product(a[v], matrices[r]),
                                      plain ? b[v] : product(b[v], matrices[kRows + r]), 0x96);
      }
    }
  }
  if (c < rows.columns) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      const __m512i a = _mm512_maskz_loadu_epi8(mask, rows.sources[c] + at + 64 * v);
      for (std::size_t r = 0; r < kRows; ++r) {
        sums[r][v] = _mm512_xor_si512(sums[r][v], kSum && r == 0 ? a : product(a, matrices[r]));
      }
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      _mm512_mask_storeu_epi8(rows.outputs[r] + at + 64 * v, mask, sums[r][v]);
    }
  }
}

template <std::size_t kRows, FirstRow kFirst>
HEXAD_GFNI_512 void run_512(const Rows& rows) {
  constexpr __mmask64 kAll = ~__mmask64{0};
  // As many as leave registers for the sources; the more, the fewer loads of matrices.
  constexpr std::size_t kVectors = kRows <= 4 ? 4 : 2;
  constexpr std::size_t kStep = 64 * kVectors;
  std::size_t at = 0;
  for (; at + kStep <= rows.length; at += kStep) step_512<kRows, kVectors, kFirst>(rows, at, kAll);
  for (; at + 64 <= rows.length; at += 64) step_512<kRows, 1, kFirst>(rows, at, kAll);
  if (at < rows.length) {
    step_512<kRows, 1, kFirst>(rows, at, kAll >> (64 - (rows.length - at)));
  }
}

HEXAD_GFNI_256 inline __m256i product(__m256i bytes, std::uint64_t matrix) {
  return _mm256_gf2p8affine_epi64_epi8(bytes, _mm256_set1_epi64x(static_cast<long long>(matrix)),
                                       0);
}

HEXAD_GFNI_256 inline __m256i load_256(const std::byte* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}

template <std::size_t kRows, std::size_t kVectors, FirstRow kFirst>
HEXAD_GFNI_256 inline void step_256(const Rows& rows, std::size_t at) {
  __m256i sums[kRows][kVectors];
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = _mm256_setzero_si256();
  }
  const std::uint64_t* matrices = rows.matrices;
  for (std::uint32_t c = 0; c < rows.columns; ++c, matrices += kRows) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      const __m256i bytes = load_256(rows.sources[c] + at + 32 * v);
      for (std::size_t r = 0; r < kRows; ++r) {
        const bool plain = kFirst == FirstRow::kSum && r == 0;
        sums[r][v] = _mm256_xor_si256(sums[r][v], plain ? bytes : product(bytes, matrices[r]));
      }
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(rows.outputs[r] + at + 32 * v), sums[r][v]);
    }
  }
}

template <std::size_t kRows, FirstRow kFirst>
HEXAD_GFNI_256 void run_256(const Rows& rows) {
  std::size_t at = 0;
  for (; at + 64 <= rows.length; at += 64) step_256<kRows, 2, kFirst>(rows, at);
  if (at + 32 <= rows.length) {
    step_256<kRows, 1, kFirst>(rows, at);
    at += 32;
  }
  if (at == rows.length) return;
  if (rows.length >= 32) {
    // The last whole vector: some bytes are computed once more, from the same sources.
    step_256<kRows, 1, kFirst>(rows, rows.length - 32);
    return;
  }
  std::array<std::array<std::byte, 32>, kMaxShards> in;
  std::array<std::array<std::byte, 32>, kRows> out;
  std::array<const std::byte*, kMaxShards> sources;
  std::array<std::byte*, kRows> outputs;
  for (std::uint32_t c = 0; c < rows.columns; ++c) {
    in[c] = {};
    std::copy_n(rows.sources[c], rows.length, in[c].begin());
    sources[c] = in[c].data();
  }
  for (std::size_t r = 0; r < kRows; ++r) outputs[r] = out[r].data();
  step_256<kRows, 1, kFirst>({rows.matrices, rows.columns, sources.data(), outputs.data(), 32}, 0);
  for (std::size_t r = 0; r < kRows; ++r) {
    std::copy_n(out[r].begin(), rows.length, rows.outputs[r]);
  }
}

// By the number of rows, less 1.
template <FirstRow kFirst>
constexpr std::array<Kernel, 8> kKernels512 = {
    run_512<1, kFirst>, run_512<2, kFirst>, run_512<3, kFirst>, run_512<4, kFirst>,
    run_512<5, kFirst>, run_512<6, kFirst>, run_512<7, kFirst>, run_512<8, kFirst>};
template <FirstRow kFirst>
constexpr std::array<Kernel, 4> kKernels256 = {run_256<1, kFirst>, run_256<2, kFirst>,
                                               run_256<3, kFirst>, run_256<4, kFirst>};

std::uint32_t most_rows(GfniWidth width) { return width == GfniWidth::k512 ? 8 : 4; }

Kernel kernel_for(GfniWidth width, std::size_t rows, FirstRow first) {
  if (width == GfniWidth::k512) {
    return (first == FirstRow::kSum ? kKernels512<FirstRow::kSum>
                                    : kKernels512<FirstRow::kAny>)[rows - 1];
  }
  return (first == FirstRow::kSum ? kKernels256<FirstRow::kSum>
                                  : kKernels256<FirstRow::kAny>)[rows - 1];
}

class GfniProgram : public Program {
 public:
  GfniProgram(const Matrix& matrix, GfniWidth width)
      : columns_(matrix.columns), most_rows_(most_rows(width)) {
    HEXAD_ASSERT(has_gfni(width) && matrix.rows > 0 && columns_ > 0 && columns_ <= kMaxShards);
    matrices_.reserve(matrix.cells.size());
    for (std::uint32_t row = 0; row < matrix.rows; row += most_rows_) {
      const std::uint32_t end = std::min<std::uint32_t>(matrix.rows, row + most_rows_);
      bool sum = true;
      for (std::uint32_t c = 0; c < columns_; ++c) {
        sum = sum && matrix.at(row, c) == 1;
        for (std::uint32_t r = row; r < end; ++r) {
          matrices_.push_back(kBitMatrices[matrix.at(r, c)]);
        }
      }
      kernels_.push_back(kernel_for(width, end - row, sum ? FirstRow::kSum : FirstRow::kAny));
    }
  }

  void run(const std::byte* const* sources, std::byte* const* outputs,
           std::size_t length) const override {
    const std::uint64_t* matrices = matrices_.data();
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      kernels_[i]({matrices, columns_, sources, outputs + i * most_rows_, length});
      matrices += most_rows_ * columns_;
    }
  }

 private:
  std::uint32_t columns_;
  std::uint32_t most_rows_;              // that one kernel does
  std::vector<std::uint64_t> matrices_;  // group of rows after group of rows, as in Rows
  std::vector<Kernel> kernels_;          // one for each group
};

}  // namespace

// The compiler's function asks the operating system, too, whether it keeps the registers.
bool has_gfni(GfniWidth width) {
  if (__builtin_cpu_supports("gfni") == 0 || __builtin_cpu_supports("avx2") == 0) return false;
  return width == GfniWidth::k256 ||
         (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0);
}

std::optional<GfniWidth> widest_gfni() {
  for (const GfniWidth width : {GfniWidth::k512, GfniWidth::k256}) {
    if (has_gfni(width)) return width;
  }
  return std::nullopt;
}

std::unique_ptr<Program> make_gfni_program(const Matrix& matrix, GfniWidth width) {
  return std::make_unique<GfniProgram>(matrix, width);
}

}  // namespace hexad::ec
