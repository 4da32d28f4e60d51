// What every kernel has to do, tried on any factory of programs.
#pragma once

#include <catch2/catch.hpp>
#include <vector>

#include "ec/kernel.h"
#include "tests/ec/naive.h"

namespace hexad::ec::testing {

// Random matrices, zeros and ones more often than chance has them, against sums of products a byte
// at a time; buffers `shift` bytes from where a vector would like them.
inline void check_program(const ProgramFactory& factory, std::uint64_t seed) {
  CAPTURE(seed);
  naive::Noise noise(seed);
  const auto k = static_cast<std::uint32_t>(1 + noise.below(12));
  const auto rows = static_cast<std::uint32_t>(1 + noise.below(5));
  Matrix matrix(rows, k);
  for (std::uint8_t& cell : matrix.cells) {
    cell = static_cast<std::uint8_t>(noise.below(3) == 0 ? noise.below(2) : noise.next());
  }
  for (std::uint32_t row = 0; row < rows; ++row) {
    if (matrix.at(row, row % k) == 0) matrix.at(row, row % k) = 1;  // no row of zeros
  }
  const std::unique_ptr<Program> program = factory(matrix);
  for (const std::size_t length : {0, 1, 7, 31, 32, 33, 63, 64, 65, 127, 200, 511, 512, 1000}) {
    for (const std::size_t shift : {0, 1, 16}) {
      CAPTURE(k, rows, length, shift);
      std::vector<Bytes> in(k, Bytes(length + shift));
      std::vector<Bytes> out(rows, Bytes(length + shift + 1, std::byte{0x5a}));
      std::vector<const std::byte*> sources;
      std::vector<std::byte*> outputs;
      for (Bytes& bytes : in) {
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(noise.next());
        sources.push_back(bytes.data() + shift);
      }
      for (Bytes& bytes : out) outputs.push_back(bytes.data() + shift);
      const std::vector<Bytes> before = in;
      program->run(sources.data(), outputs.data(), length);
      REQUIRE(in == before);
      for (std::uint32_t row = 0; row < rows; ++row) {
        Bytes wanted(length + shift + 1, std::byte{0x5a});
        for (std::size_t i = 0; i < length; ++i) {
          std::uint8_t sum = 0;
          for (std::uint32_t c = 0; c < k; ++c) {
            sum ^=
                naive::multiply(matrix.at(row, c), std::to_integer<std::uint8_t>(in[c][shift + i]));
          }
          wanted[shift + i] = std::byte{sum};
        }
        REQUIRE(out[row] == wanted);
      }
    }
  }
}

}  // namespace hexad::ec::testing
