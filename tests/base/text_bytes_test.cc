#include "base/text_bytes.h"

#include <catch2/catch.hpp>
#include <utility>

namespace hexad {
namespace {

TEST_CASE("text_bytes: UTF-8 is told from other bytes at every boundary of RFC 3629") {
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

TEST_CASE("text_bytes: base64 follows RFC 4648") {
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
    CHECK(to_base64(bytes) == text);
    CHECK(from_base64(text).value() == bytes);
  }
  CHECK(from_base64("__4").value() == "\xff\xfe");
}

TEST_CASE("text_bytes: base64 gives back any bytes") {
  std::uint32_t state = 7;
  for (std::size_t size = 0; size < 300; ++size) {
    std::string bytes;
    while (bytes.size() < size) {
      state = state * 1664525 + 1013904223;
      bytes += static_cast<char>(state >> 24);
    }
    REQUIRE(from_base64(to_base64(bytes)).value() == bytes);
  }
}

TEST_CASE("text_bytes: what is not base64 is refused") {
  for (const char* bad : {"A", "AAAAA", "a b", "a*bc", "AA=A", "AA===", "\xff"}) {
    CAPTURE(bad);
    const Result<std::string> decoded = from_base64(bad);
    REQUIRE_FALSE(decoded.ok());
    CHECK(decoded.error().code == ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace hexad
