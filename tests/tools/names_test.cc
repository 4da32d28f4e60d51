#include "tools/cli/names.h"

#include <catch2/catch.hpp>

namespace hexad::tools {
namespace {

TEST_CASE("names: a terminal sees no control characters and no ambiguity") {
  CHECK(display_name("plain/name.txt") == "plain/name.txt");
  CHECK(display_name("caf\xc3\xa9") == "caf\xc3\xa9");
  CHECK(display_name("caf\xe9") == "caf\\xe9");
  CHECK(display_name("a\\xe9") == "a\\\\xe9");
  CHECK(display_name("\x1b[2J\n") == "\\x1b[2J\\x0a");
  CHECK(display_name("\xc2\x9b") == "\\xc2\\x9b");  // the one-character CSI
  CHECK(display_name(std::string_view("\0", 1)) == "\\x00");
}

TEST_CASE("names: a shell reads a word back as the bytes that it was made of") {
  CHECK(shell_word("plain/name.txt-2") == "plain/name.txt-2");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("a b") == "'a b'");
  CHECK(shell_word("$x`y`*") == "'$x`y`*'");
  CHECK(shell_word("it's") == "'it'\\''s'");
  CHECK(shell_word("~") == "'~'");
  CHECK(shell_word("caf\xc3\xa9") == "'caf\xc3\xa9'");
  CHECK(shell_word("caf\xe9") == "$'caf\\xe9'");
  CHECK(shell_word("a\nb") == "$'a\\x0ab'");
  CHECK(shell_word("a\\b") == "$'a\\\\b'");
  CHECK(shell_word("\x01'") == "$'\\x01\\''");
}

TEST_CASE("names: what is not base64 is refused") {
  for (const char* bad : {"A", "AAAAA", "a b", "a*bc", "AA=A", "AA===", "\xff"}) {
    CAPTURE(bad);
    const Result<std::string> decoded = base64_decode(bad);
    REQUIRE_FALSE(decoded.ok());
    CHECK(decoded.error().code == ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace hexad::tools
