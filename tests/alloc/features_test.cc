#include "alloc/features.h"

#include <catch2/catch.hpp>

using namespace hexad;
using namespace hexad::alloc;

TEST_CASE("features: three sets, in the order of the members") {
  std::string bytes;
  Encoder encoder(bytes);
  const Features features{1, 2, 3};
  encode_features(encoder, features);
  REQUIRE(bytes == std::string("\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0", 24));
  Decoder decoder(bytes);
  CHECK(decode_features(decoder) == features);
  CHECK(decoder.finish("features").ok());
}

TEST_CASE(
    "features: of unknown bits, compatible ones say nothing, the others forbid and are named") {
  const Features compatible{~std::uint64_t{0}, 0, 0};
  CHECK(check_readable(compatible, 0, "label").ok());
  CHECK(check_writable(compatible, "label").ok());

  const Features read_only{0, 1 << 4, 0};
  CHECK(check_readable(read_only, 0, "label").ok());
  const Error written = check_writable(read_only, "label").error();
  CHECK(written.code == ErrorCode::kUnsupported);
  CHECK(written.message.find("label with read-only compatible feature 4") == 0);

  const Features incompatible{0, 0, 0b1011};
  CHECK(check_readable(incompatible, 0b1011, "root").ok());
  const Error read = check_readable(incompatible, 0b0001, "root").error();
  CHECK(read.code == ErrorCode::kUnsupported);
  CHECK(read.message.find("root with incompatible features 1, 3") == 0);
}

TEST_CASE("features: one bit is a feature, several are features") {
  CHECK(describe_features("x", 1) == "x feature 0");
  CHECK(describe_features("x", std::uint64_t{1} << 63) == "x feature 63");
  for (unsigned bit = 0; bit < 63; ++bit) {
    CHECK(describe_features("x", std::uint64_t{3} << bit) ==
          "x features " + std::to_string(bit) + ", " + std::to_string(bit + 1));
  }
}
