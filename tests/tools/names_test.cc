#include "tools/cli/names.h"

#include <catch2/catch.hpp>

#include "io/rng.h"

namespace hexad::tools {
namespace {

std::string random_bytes(io::Rng& rng, std::size_t size) {
  std::string bytes;
  while (bytes.size() < size) bytes += static_cast<char>(rng.below(256));
  return bytes;
}

TEST_CASE("names: UTF-8 is told from other bytes at every boundary of RFC 3629") {
  for (const char* good :
       {"", "a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "caf\xc3\xa9"}) {
    CAPTURE(good);
    CHECK(is_utf8(good));
  }
  for (const char* bad :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x41", "\xe0\x9f\xbf", "\xe0\xa0",
        "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf0\x90\x80", "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80", "\xff", "caf\xe9"}) {
    CAPTURE(bad);
    CHECK_FALSE(is_utf8(bad));
  }
}

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

TEST_CASE("names: base64 follows RFC 4648") {
  const std::pair<const char*, const char*> examples[] = {{"", ""},
                                                          {"f", "Zg=="},
                                                          {"f"
                                                           "o",
                                                           "Zm8="},
                                                          {"foo", "Zm9v"},
                                                          {"foob", "Zm9vYg=="},
                                                          {"fooba", "Zm9vYmE="},
                                                          {"foobar", "Zm9vYmFy"},
                                                          {"\xff\xfe", "//4="}};
  for (const auto& [bytes, text] : examples) {
    CAPTURE(text);
    CHECK(base64_encode(bytes) == text);
    CHECK(base64_decode(text).value() == bytes);
  }
  CHECK(base64_decode("__4").value() == "\xff\xfe");
}

TEST_CASE("names: base64 gives back any bytes") {
  const std::uint64_t seed = 7;
  CAPTURE(seed);
  io::Rng rng(seed);
  for (std::size_t size = 0; size < 300; ++size) {
    const std::string bytes = random_bytes(rng, size);
    REQUIRE(base64_decode(base64_encode(bytes)).value() == bytes);
  }
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
