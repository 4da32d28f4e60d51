// Jerasure 2 and GF-Complete: their generator matrices, coding by field multiplication
// (reed_sol_*), and coding by XOR of packets (cauchy_*). All with w = 8.
#pragma once

#include <cstdint>
#include <memory>

#include "ec/kernel.h"
#include "ec/matrix.h"
#include "ec/profile.h"

namespace hexad::ec {

// m rows of k coefficients. Precondition: one of Jerasure's kinds. Any thread.
Matrix jerasure_matrix(CodecKind kind, std::uint32_t k, std::uint32_t m);

// Region multiplication of GF-Complete. Any length.
std::unique_ptr<Program> make_gf_complete_program(const Matrix& matrix);

// The matrix expanded to bits, and Jerasure's schedule of XORs for it, over groups of eight packets
// per shard. Lengths are multiples of 8 * packet_bytes.
std::unique_ptr<Program> make_packet_program(const Matrix& matrix, std::uint32_t packet_bytes);

}  // namespace hexad::ec
