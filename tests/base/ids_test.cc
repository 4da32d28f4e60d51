#include "base/ids.h"

#include <catch2/catch.hpp>

using namespace hexad;

TEST_CASE("ids: a UUID goes to text and back in either case") {
  Uuid uuid;
  REQUIRE(uuid.is_nil());
  for (std::size_t i = 0; i < 16; ++i) uuid.bytes[i] = static_cast<std::uint8_t>(i * 17);
  const std::string text = to_string(uuid);
  REQUIRE(text == "00112233-4455-6677-8899-aabbccddeeff");
  REQUIRE(parse_uuid(text).value() == uuid);
  REQUIRE(parse_uuid("00112233-4455-6677-8899-AABBCCDDEEFF").value() == uuid);
  REQUIRE_FALSE(uuid.is_nil());
}

TEST_CASE("ids: what is not a UUID is refused at every truncation and changed character") {
  const std::string text = "00112233-4455-6677-8899-aabbccddeeff";
  for (std::size_t cut = 0; cut < text.size(); ++cut) {
    REQUIRE(parse_uuid(text.substr(0, cut)).error().code == ErrorCode::kInvalidArgument);
    std::string changed = text;
    changed[cut] = 'g';
    REQUIRE_FALSE(parse_uuid(changed).ok());
  }
  REQUIRE_FALSE(parse_uuid(text + "0").ok());
}
