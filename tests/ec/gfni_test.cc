#include "ec/gfni.h"

#include <string>

#include "ec/isal.h"
#include "tests/ec/program_suite.h"

namespace hexad::ec {
namespace {

// Runs `check` for both widths; says which this processor does not have.
template <typename Check>
void for_each_width(const Check& check) {
  for (const GfniWidth width : {GfniWidth::k256, GfniWidth::k512}) {
    CAPTURE(static_cast<int>(width));
    if (has_gfni(width)) {
      check([width](const Matrix& matrix) { return make_gfni_program(matrix, width); });
    } else {
      WARN("SKIPPED: this processor has no GFNI of " << static_cast<int>(width) << " bits");
    }
  }
}

TEST_CASE("gfni: any matrix is applied as sums of products, at any length and place") {
  for_each_width([](const ProgramFactory& factory) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) testing::check_program(factory, seed);
  });
}

TEST_CASE("gfni: every factor of the field is multiplied with as the tables have it") {
  for_each_width([](const ProgramFactory& factory) {
    for (unsigned factor = 1; factor < 256; ++factor) {
      Matrix matrix(1, 1);
      matrix.at(0, 0) = static_cast<std::uint8_t>(factor);
      Bytes in(256);
      for (unsigned i = 0; i < 256; ++i) in[i] = static_cast<std::byte>(i);
      Bytes out(256);
      const std::byte* const source = in.data();
      std::byte* const output = out.data();
      factory(matrix)->run(&source, &output, in.size());
      for (unsigned i = 0; i < 256; ++i) {
        CAPTURE(factor, i);
        REQUIRE(std::to_integer<std::uint8_t>(out[i]) ==
                naive::multiply(static_cast<std::uint8_t>(factor), static_cast<std::uint8_t>(i)));
      }
    }
  });
}

// With more rows than one kernel does, with a first row of ones and without, in lengths around
// whole steps, against ISA-L, which has nothing in common with it but the field.
TEST_CASE("gfni: the bytes are those of ISA-L for every number of rows and columns") {
  for_each_width([](const ProgramFactory& factory) {
    naive::Noise noise(7);
    for (std::uint32_t rows = 1; rows <= 10; ++rows) {
      for (const std::uint32_t columns : {1u, 2u, 3u, 4u, 9u, 32u, 40u}) {
        for (const bool ones : {false, true}) {
          Matrix matrix(rows, columns);
          for (std::uint8_t& cell : matrix.cells) {
            cell = static_cast<std::uint8_t>(1 + noise.below(255));
          }
          for (std::uint32_t c = 0; ones && c < columns; ++c) matrix.at(0, c) = 1;
          const std::size_t length = 1 + noise.below(700);
          CAPTURE(rows, columns, ones, length);
          std::vector<Bytes> in(columns, Bytes(length));
          std::vector<const std::byte*> sources;
          for (Bytes& bytes : in) {
            for (std::byte& byte : bytes) byte = static_cast<std::byte>(noise.next());
            sources.push_back(bytes.data());
          }
          const auto apply = [&](const Program& program) {
            std::vector<Bytes> out(rows, Bytes(length + 1, std::byte{0x5a}));
            std::vector<std::byte*> outputs;
            for (Bytes& bytes : out) outputs.push_back(bytes.data());
            program.run(sources.data(), outputs.data(), length);
            return out;
          };
          REQUIRE(apply(*factory(matrix)) == apply(*make_isal_program(matrix)));
        }
      }
    }
  });
}

TEST_CASE("gfni: the widest is one that the processor has, and the wider one where it has both") {
  const std::optional<GfniWidth> widest = widest_gfni();
  REQUIRE(widest.has_value() == (has_gfni(GfniWidth::k256) || has_gfni(GfniWidth::k512)));
  if (widest.has_value()) REQUIRE(has_gfni(*widest));
  if (has_gfni(GfniWidth::k512)) REQUIRE(widest == GfniWidth::k512);
}

}  // namespace
}  // namespace hexad::ec
