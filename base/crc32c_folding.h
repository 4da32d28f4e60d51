// crc32c by carry-less multiplication, 64 bytes at a time: for kernels that have the bytes in
// registers anyway and sum them on the way. Who only sums calls crc32c().
//
// Source: V. Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
// Instruction", Intel 2009, with vectors of four lanes. What has been summed is kept as a vector
// that has the same remainder; to put 64 bytes behind it multiplies each half of a lane with the
// power of x by which it moves.
//
// A header of instructions: only functions with HEXAD_CRC32C_FOLDING, or with more, may call these.
#pragma once

#include <immintrin.h>

#include <array>
#include <cstdint>

#include "base/crc32c_polynomials.h"

#define HEXAD_CRC32C_FOLDING __attribute__((target("avx,avx2,avx512f,pclmul,vpclmulqdq")))

namespace hexad::crc32c_folding {

// Returns whether this processor, under this operating system, has the instructions.
inline bool is_there() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("pclmul") != 0 &&
         __builtin_cpu_supports("vpclmulqdq") != 0;
}

// The factors that move a lane up by `bits`, for its first 8 bytes and for the other ones. Of a
// product of two halves, each with its highest coefficient in bit 0, the register shows x times as
// much: hence the one less.
constexpr std::uint64_t first_factor(int bits) {
  return std::uint64_t{crc32c_math::power_of_x(bits + 64 - 1)} << 32;
}
constexpr std::uint64_t second_factor(int bits) {
  return std::uint64_t{crc32c_math::power_of_x(bits - 1)} << 32;
}

inline constexpr std::array<std::uint64_t, 8> kNext = {
    first_factor(512), second_factor(512), first_factor(512), second_factor(512),
    first_factor(512), second_factor(512), first_factor(512), second_factor(512)};
// To where the last lane is; that one stays.
inline constexpr std::array<std::uint64_t, 8> kLast = {first_factor(384),
                                                       second_factor(384),
                                                       first_factor(256),
                                                       second_factor(256),
                                                       first_factor(128),
                                                       second_factor(128),
                                                       0,
                                                       0};

// The factors of folded(), to be loaded once.
HEXAD_CRC32C_FOLDING inline __m512i factors() { return _mm512_loadu_si512(kNext.data()); }

// What stands before the first 64 bytes, so that their sum continues `previous`, the crc32c of
// those before them; 0 begins. It is the state of that sum, divided by what the first step
// multiplies it with too much, in the lowest coefficients of all.
HEXAD_CRC32C_FOLDING inline __m512i before(std::uint32_t previous) {
  constexpr auto kFactor = static_cast<int>(crc32c_math::power_of_x(-32 - 33));
  const __m128i product = _mm_clmulepi64_si128(_mm_cvtsi32_si128(static_cast<int>(~previous)),
                                               _mm_cvtsi32_si128(kFactor), 0);
  const std::uint64_t state =
      _mm_crc32_u64(0, static_cast<std::uint64_t>(_mm_cvtsi128_si64(product)));
  return _mm512_set_epi64(static_cast<long long>(state << 32), 0, 0, 0, 0, 0, 0, 0);
}

// `so_far`, which before() has begun, and 64 bytes behind it.
HEXAD_CRC32C_FOLDING inline __m512i folded(__m512i so_far, __m512i factors, __m512i next) {
  return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(so_far, factors, 0x00),
                                   _mm512_clmulepi64_epi128(so_far, factors, 0x11), next, 0x96);
}

// Returns the crc32c of all that was folded.
HEXAD_CRC32C_FOLDING inline std::uint32_t finish(__m512i all) {
  const __m512i factors = _mm512_loadu_si512(kLast.data());
  __m512i lanes = _mm512_xor_si512(_mm512_clmulepi64_epi128(all, factors, 0x00),
                                   _mm512_clmulepi64_epi128(all, factors, 0x11));
  lanes = _mm512_mask_xor_epi64(lanes, 0xc0, lanes, all);
  alignas(64) std::uint64_t words[8];
  _mm512_store_si512(words, lanes);
  // As the only 16 bytes of a message, without what is inverted at its ends.
  const std::uint64_t state = _mm_crc32_u64(0, words[0] ^ words[2] ^ words[4] ^ words[6]);
  return ~static_cast<std::uint32_t>(
      _mm_crc32_u64(state, words[1] ^ words[3] ^ words[5] ^ words[7]));
}

}  // namespace hexad::crc32c_folding
