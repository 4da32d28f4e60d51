#include "ec/summing_kernel.h"

#include <catch2/catch.hpp>
#include <vector>

#include "base/bytes.h"
#include "base/checksum.h"
#include "ec/isal.h"
#include "tests/ec/naive.h"

namespace hexad::ec {
namespace {

Matrix random_matrix(std::uint32_t rows, std::uint32_t columns, bool ones, naive::Noise& noise) {
  Matrix matrix(rows, columns);
  for (std::uint8_t& cell : matrix.cells) cell = static_cast<std::uint8_t>(1 + noise.below(255));
  for (std::uint32_t c = 0; ones && c < columns; ++c) matrix.at(0, c) = 1;
  return matrix;
}

std::vector<Bytes> random_bytes(std::size_t count, std::size_t size, naive::Noise& noise) {
  std::vector<Bytes> all(count, Bytes(size));
  for (Bytes& bytes : all) {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(noise.next());
  }
  return all;
}

bool skipped(const std::unique_ptr<SummingProgram>& program) {
  if (program == nullptr) WARN("SKIPPED: this processor has no AVX-512 with GFNI and VPCLMULQDQ");
  return program == nullptr;
}

// Against ISA-L and crc32c(), for every number of rows and columns, in lengths around whole steps,
// from and to any place, over sums that have begun.
TEST_CASE("summing_kernel: copies, parity and sums are those of one pass after the other") {
  naive::Noise noise(11);
  for (std::uint32_t rows = 1; rows <= 4; ++rows) {
    for (const std::uint32_t columns : {1u, 2u, 3u, 4u, 5u, 10u, 31u, 32u}) {
      for (const bool ones : {false, true}) {
        const Matrix matrix = random_matrix(rows, columns, ones, noise);
        const auto program = make_summing_program(matrix);
        if (skipped(program)) return;
        for (const std::size_t length : {0, 64, 128, 192, 256, 320, 512, 576, 1088, 4096}) {
          const std::size_t place = noise.below(64);
          CAPTURE(rows, columns, ones, length, place);
          const std::vector<Bytes> in = random_bytes(columns, place + length, noise);
          // A byte behind each that has to stay.
          std::vector<Bytes> out(columns + rows, Bytes(place + length + 1, std::byte{0x5a}));
          std::vector<Bytes> wanted = out;
          std::vector<std::uint32_t> sums;
          std::vector<const std::byte*> sources;
          std::vector<std::byte*> outputs;
          std::vector<std::byte*> wanted_outputs;
          for (const Bytes& bytes : in) sources.push_back(bytes.data() + place);
          for (std::uint32_t i = 0; i < columns + rows; ++i) {
            sums.push_back(static_cast<std::uint32_t>(noise.next()));
            outputs.push_back(out[i].data() + place);
            wanted_outputs.push_back(wanted[i].data() + place);
            if (i < columns) std::copy_n(sources[i], length, wanted_outputs[i]);
          }
          make_isal_program(matrix)->run(sources.data(), wanted_outputs.data() + columns, length);
          std::vector<std::uint32_t> wanted_sums;
          for (std::uint32_t i = 0; i < columns + rows; ++i) {
            wanted_sums.push_back(crc32c(ByteView(wanted[i]).subspan(place, length), sums[i]));
          }
          program->run(sources.data(), outputs.data(), outputs.data() + columns, length,
                       sums.data());
          REQUIRE(out == wanted);
          REQUIRE(sums == wanted_sums);
        }
      }
    }
  }
}

TEST_CASE("summing_kernel: what is in its place already is coded and summed there") {
  naive::Noise noise(12);
  const Matrix matrix = random_matrix(2, 3, true, noise);
  const auto program = make_summing_program(matrix);
  if (skipped(program)) return;
  std::vector<Bytes> cells = random_bytes(5, 1024, noise);
  std::vector<Bytes> wanted = cells;
  std::vector<const std::byte*> sources;
  std::vector<std::byte*> all;
  std::vector<std::byte*> wanted_outputs;
  for (std::uint32_t i = 0; i < 5; ++i) {
    if (i < 3) sources.push_back(cells[i].data());
    all.push_back(cells[i].data());
    if (i >= 3) wanted_outputs.push_back(wanted[i].data());
  }
  make_isal_program(matrix)->run(sources.data(), wanted_outputs.data(), 1024);
  std::vector<std::uint32_t> sums(5);
  program->run(sources.data(), all.data(), all.data() + 3, 1024, sums.data());
  REQUIRE(cells == wanted);
  for (std::uint32_t i = 0; i < 5; ++i) REQUIRE(sums[i] == crc32c(wanted[i]));
}

TEST_CASE("summing_kernel: there is none for more rows than it has registers for") {
  naive::Noise noise(13);
  REQUIRE(make_summing_program(random_matrix(5, 10, false, noise)) == nullptr);
  REQUIRE(make_summing_program(Matrix(0, 4)) == nullptr);
}

}  // namespace
}  // namespace hexad::ec
