#include "tools/cli/byte_range.h"

#include <catch2/catch.hpp>

namespace hexad::tools {
namespace {

TEST_CASE("byte_range: offset and length are sizes") {
  CHECK(parse_byte_range("0:100").value() == ByteRange{0, 100});
  CHECK(parse_byte_range("1MiB:4KiB").value() == ByteRange{1 << 20, 4096});
  CHECK(parse_byte_range("17592186044415:1").value() == ByteRange{kMaxObjectSize, 1});
  CHECK(parse_byte_range("5:0").value() == ByteRange{5, 0});
}

TEST_CASE("byte_range: without a length it goes to the end") {
  CHECK(parse_byte_range("4k:").value() == ByteRange{4096, kMaxObjectSize});
}

TEST_CASE("byte_range: an end that no number holds cannot be said") {
  const Result<ByteRange> widest = parse_byte_range("9000000000000000000:9000000000000000000");
  REQUIRE(widest.ok());
  CHECK(widest->offset + widest->length > widest->offset);
}

TEST_CASE("byte_range: what is no range is refused with the form that it has") {
  for (const char* text : {"", ":", "5", ":5", "a:5", "5:a", "-1:5", "5:-1", "1:2:3", "1 2",
                           "99999999999999999999:1", "1:99999999999999999999"}) {
    CAPTURE(text);
    const Result<ByteRange> range = parse_byte_range(text);
    REQUIRE_FALSE(range.ok());
    CHECK(range.error().code == ErrorCode::kInvalidArgument);
    CHECK_THAT(range.error().message, Catch::Contains(text));
    CHECK_THAT(range.error().hint, Catch::Contains("OFFSET:LENGTH"));
  }
}

}  // namespace
}  // namespace hexad::tools
