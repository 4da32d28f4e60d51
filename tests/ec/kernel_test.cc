#include "ec/kernel.h"

#include <algorithm>
#include <string>
#include <thread>

#include "ec/gfni.h"
#include "ec/isal.h"
#include "ec/jerasure.h"
#include "tests/ec/program_suite.h"

namespace hexad::ec {
namespace {

struct Kernel {
  std::string name;
  ProgramFactory factory;
  std::size_t alignment;  // of lengths, bytes
};

std::vector<Kernel> all_kernels() {
  std::vector<Kernel> kernels = {
      {"isal", make_isal_program, 1},
      {"gf_complete", make_gf_complete_program, 1},
      {"packets of 8", [](const Matrix& matrix) { return make_packet_program(matrix, 8); }, 64},
      {"packets of 64", [](const Matrix& matrix) { return make_packet_program(matrix, 64); }, 512},
  };
  for (const GfniWidth width : {GfniWidth::k256, GfniWidth::k512}) {
    if (!has_gfni(width)) continue;
    kernels.push_back({"gfni of " + std::to_string(static_cast<int>(width)),
                       [width](const Matrix& matrix) { return make_gfni_program(matrix, width); },
                       1});
  }
  return kernels;
}

// Without zeros.
Matrix random_matrix(std::uint32_t rows, std::uint32_t k, naive::Noise& noise) {
  Matrix matrix(rows, k);
  for (std::uint8_t& cell : matrix.cells) cell = static_cast<std::uint8_t>(1 + noise.below(255));
  return matrix;
}

std::vector<Bytes> random_shards(std::uint32_t count, std::size_t length, naive::Noise& noise) {
  std::vector<Bytes> shards(count, Bytes(length));
  for (Bytes& shard : shards) {
    for (std::byte& byte : shard) byte = static_cast<std::byte>(noise.next());
  }
  return shards;
}

std::vector<Bytes> apply(const Program& program, const Matrix& matrix,
                         const std::vector<Bytes>& in) {
  std::vector<Bytes> out(matrix.rows, Bytes(in[0].size(), std::byte{0x5a}));
  std::vector<const std::byte*> sources;
  std::vector<std::byte*> outputs;
  for (const Bytes& bytes : in) sources.push_back(bytes.data());
  for (Bytes& bytes : out) outputs.push_back(bytes.data());
  program.run(sources.data(), outputs.data(), in[0].size());
  return out;
}

TEST_CASE("kernel: those that work on bytes give the same ones, beyond any block of theirs") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    naive::Noise noise(seed);
    const Matrix matrix = random_matrix(static_cast<std::uint32_t>(1 + seed % 4),
                                        static_cast<std::uint32_t>(1 + seed), noise);
    const std::vector<Bytes> in = random_shards(matrix.columns, 50'000 + seed, noise);
    const std::vector<Bytes> out = apply(*make_isal_program(matrix), matrix, in);
    for (const Kernel& kernel : all_kernels()) {
      CAPTURE(kernel.name);
      if (kernel.alignment == 1) REQUIRE((apply(*kernel.factory(matrix), matrix, in) == out));
    }
    for (std::size_t at = 0; at < in[0].size(); at += 997) {
      std::uint8_t sum = 0;
      for (std::uint32_t c = 0; c < matrix.columns; ++c) {
        sum ^= naive::multiply(matrix.at(0, c), std::to_integer<std::uint8_t>(in[c][at]));
      }
      REQUIRE(out[0][at] == std::byte{sum});
    }
  }
}

// Bit j of the eight packets of a group, the first one lowest, is one element of the field.
std::uint8_t element(const Bytes& shard, std::size_t group, std::size_t packet, std::size_t j) {
  std::uint8_t bits = 0;
  for (std::size_t p = 0; p < 8; ++p) {
    const auto byte = std::to_integer<unsigned>(shard[(group * 8 + p) * packet + j / 8]);
    bits |= static_cast<std::uint8_t>((byte >> (j % 8) & 1) << p);
  }
  return bits;
}

TEST_CASE("kernel: packets apply the matrix to elements whose bits lie a packet apart") {
  for (const std::uint32_t packet : {8u, 16u, 64u}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      CAPTURE(packet, seed);
      naive::Noise noise(seed);
      Matrix matrix = random_matrix(static_cast<std::uint32_t>(1 + noise.below(4)),
                                    static_cast<std::uint32_t>(1 + noise.below(8)), noise);
      for (std::uint32_t c = 1; c < matrix.columns; ++c) {
        if (noise.below(3) == 0) matrix.at(0, c) = static_cast<std::uint8_t>(noise.below(2));
      }
      const std::vector<Bytes> in = random_shards(matrix.columns, 3 * 8 * packet, noise);
      const std::vector<Bytes> out = apply(*make_packet_program(matrix, packet), matrix, in);
      for (std::uint32_t row = 0; row < matrix.rows; ++row) {
        for (std::size_t group = 0; group < 3; ++group) {
          for (std::size_t j = 0; j < 8 * packet; ++j) {
            std::uint8_t sum = 0;
            for (std::uint32_t c = 0; c < matrix.columns; ++c) {
              sum ^= naive::multiply(matrix.at(row, c), element(in[c], group, packet, j));
            }
            REQUIRE(element(out[row], group, packet, j) == sum);
          }
        }
      }
    }
  }
}

TEST_CASE("kernel: a length of nothing writes nothing") {
  for (const Kernel& kernel : all_kernels()) {
    CAPTURE(kernel.name);
    naive::Noise noise(1);
    const Matrix matrix = random_matrix(2, 3, noise);
    const std::byte in{1};
    std::byte out{0x5a};
    const std::byte* const sources[] = {&in, &in, &in};
    std::byte* const outputs[] = {&out, &out};
    kernel.factory(matrix)->run(sources, outputs, 0);
    REQUIRE(out == std::byte{0x5a});
  }
}

TEST_CASE("kernel: a matrix may be gone when its program runs") {
  for (const Kernel& kernel : all_kernels()) {
    CAPTURE(kernel.name);
    naive::Noise noise(1);
    auto matrix = std::make_unique<Matrix>(random_matrix(2, 4, noise));
    const std::vector<Bytes> in = random_shards(4, 4 * kernel.alignment, noise);
    const std::unique_ptr<Program> program = kernel.factory(*matrix);
    const std::vector<Bytes> wanted = apply(*program, *matrix, in);
    std::fill(matrix->cells.begin(), matrix->cells.end(), std::uint8_t{1});
    REQUIRE(apply(*program, *matrix, in) == wanted);
  }
}

TEST_CASE("kernel: one program runs in several threads at once, beside others being made") {
  for (const Kernel& kernel : all_kernels()) {
    CAPTURE(kernel.name);
    naive::Noise noise(1);
    const Matrix matrix = random_matrix(3, 5, noise);
    const std::unique_ptr<Program> program = kernel.factory(matrix);
    constexpr int kThreads = 4;
    std::vector<std::vector<Bytes>> in;
    std::vector<std::vector<Bytes>> wanted;
    for (int i = 0; i < kThreads; ++i) {
      in.push_back(random_shards(5, 8 * kernel.alignment, noise));
      wanted.push_back(apply(*program, matrix, in.back()));
    }
    std::vector<int> wrong(kThreads);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        for (int round = 0; round < 50; ++round) {
          const std::unique_ptr<Program> own = kernel.factory(matrix);
          wrong[i] += apply(*program, matrix, in[i]) == wanted[i] ? 0 : 1;
          wrong[i] += apply(*own, matrix, in[i]) == wanted[i] ? 0 : 1;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    REQUIRE(wrong == std::vector<int>(kThreads));
  }
}

}  // namespace
}  // namespace hexad::ec
