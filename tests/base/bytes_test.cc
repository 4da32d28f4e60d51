#include "base/bytes.h"

#include <catch2/catch.hpp>

using namespace hexad;

TEST_CASE("bytes: text and bytes are two views of the same memory") {
  const std::string text("a\0b", 3);
  REQUIRE(as_text(as_bytes(text)) == text);
  REQUIRE(as_bytes("").empty());
}

TEST_CASE("bytes: is_zero sees a single set bit at every place") {
  Bytes bytes(70);
  REQUIRE(is_zero(bytes));
  REQUIRE(is_zero(ByteView{}));
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      bytes[at] = static_cast<std::byte>(1 << bit);
      REQUIRE_FALSE(is_zero(bytes));
      bytes[at] = std::byte{0};
    }
  }
}

TEST_CASE("bytes: copy and fill touch exactly their span") {
  Bytes bytes(8, std::byte{7});
  copy_bytes(MutByteView(bytes).subspan(2), as_bytes("xy"));
  fill_zero(MutByteView(bytes).subspan(6));
  REQUIRE(as_text(bytes) == std::string_view("\7\7xy\7\7\0\0", 8));
  copy_bytes(bytes, {});
  fill_zero({});
}

TEST_CASE("bytes: printable shows any name on any terminal") {
  REQUIRE(printable("plain name") == "plain name");
  REQUIRE(printable("back\\slash") == "back\\\\slash");
  REQUIRE(printable(std::string_view("\0\x1b\x7f\xff", 4)) == "\\x00\\x1b\\x7f\\xff");
  REQUIRE(printable("abcdef", 3) == "abc...");
  REQUIRE(printable("abc", 3) == "abc");
}
