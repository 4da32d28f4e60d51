#include "base/uuid_codec.h"

#include <catch2/catch.hpp>

using namespace hexad;

namespace {

Uuid sample() {
  Uuid uuid;
  for (std::uint8_t i = 0; i < 16; ++i) uuid.bytes[i] = static_cast<std::uint8_t>(0xa0 + i);
  return uuid;
}

std::string encoded(const Uuid& uuid) {
  std::string bytes;
  Encoder encoder(bytes);
  encode_uuid(encoder, uuid);
  return bytes;
}

}  // namespace

TEST_CASE("uuid_codec: a uuid is its sixteen bytes in order, and comes back") {
  const std::string bytes = encoded(sample());
  REQUIRE(bytes == "\xa0\xa1\xa2\xa3\xa4\xa5\xa6\xa7\xa8\xa9\xaa\xab\xac\xad\xae\xaf");
  Decoder decoder(bytes);
  REQUIRE(decode_uuid(decoder) == sample());
  REQUIRE(decoder.finish("uuid").ok());
}

TEST_CASE("uuid_codec: it is appended, and only its own bytes are taken") {
  std::string bytes = "before";
  Encoder encoder(bytes);
  encode_uuid(encoder, sample());
  encoder.raw(std::string_view("after"));
  Decoder decoder(bytes);
  REQUIRE(decoder.raw(6) == "before");
  REQUIRE(decode_uuid(decoder) == sample());
  REQUIRE(decoder.rest() == "after");
}

TEST_CASE("uuid_codec: every truncation is nil and makes the decoder fail") {
  const std::string whole = encoded(sample());
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    CAPTURE(cut);
    Decoder decoder(std::string_view(whole).substr(0, cut));
    REQUIRE(decode_uuid(decoder).is_nil());
    REQUIRE_FALSE(decoder.ok());
    REQUIRE(decoder.finish("uuid").error().code == ErrorCode::kCorruption);
  }
}
