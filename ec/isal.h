// ISA-L: its generator matrices, which are those of Ceph's isa plugin (that has XOR for m = 1,
// whatever the technique), and its kernels (SSE to AVX-512, chosen by the library at run time).
#pragma once

#include <cstdint>
#include <memory>

#include "ec/kernel.h"
#include "ec/matrix.h"

namespace hexad::ec {

// m rows of k coefficients. Row i of Vandermonde is (2^i)^0, (2^i)^1, ... The first row of
// Vandermonde is plain XOR, the second the Q of RAID 6.
Matrix isal_vandermonde(std::uint32_t k, std::uint32_t m);
Matrix isal_cauchy(std::uint32_t k, std::uint32_t m);

// Any length. Where the matrix is P or P+Q of RAID 6 and all pointers are multiples of 32, ISA-L's
// RAID functions do the work: the same bytes, about twice as fast.
std::unique_ptr<Program> make_isal_program(const Matrix& matrix);
// Whether the matrix is P or P+Q of RAID 6.
bool is_raid(const Matrix& matrix);

}  // namespace hexad::ec
