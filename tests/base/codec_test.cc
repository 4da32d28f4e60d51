#include "base/codec.h"

#include <catch2/catch.hpp>
#include <limits>
#include <vector>

using namespace hexad;

namespace {

std::string varint_of(std::uint64_t value) {
  std::string out;
  Encoder(out).varint(value);
  return out;
}

std::vector<std::uint64_t> interesting_numbers() {
  std::vector<std::uint64_t> numbers = {0, std::numeric_limits<std::uint64_t>::max()};
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t power = std::uint64_t{1} << bit;
    numbers.insert(numbers.end(), {power - 1, power, power + 1});
  }
  return numbers;
}

// One of every field.
std::string sample_record() {
  std::string out;
  Encoder encoder(out);
  encoder.u8(0xab);
  encoder.le16(0x1234);
  encoder.le32(0xdeadbeef);
  encoder.le64(0x0123456789abcdef);
  encoder.varint(300);
  encoder.bytes("name");
  encoder.raw("xyz");
  encoder.zeros(3);
  return out;
}

void read_sample(Decoder& decoder) {
  decoder.u8();
  decoder.le16();
  decoder.le32();
  decoder.le64();
  decoder.varint();
  decoder.bytes();
  decoder.raw(3);
  decoder.zeros(3);
}

}  // namespace

TEST_CASE("codec: integers are little-endian and come back") {
  const std::string record = sample_record();
  REQUIRE(record.substr(1, 2) == "\x34\x12");
  Decoder decoder(record);
  REQUIRE(decoder.u8() == 0xab);
  REQUIRE(decoder.le16() == 0x1234);
  REQUIRE(decoder.le32() == 0xdeadbeef);
  REQUIRE(decoder.le64() == 0x0123456789abcdef);
  REQUIRE(decoder.varint() == 300);
  REQUIRE(decoder.bytes() == "name");
  REQUIRE(decoder.raw(3) == "xyz");
  REQUIRE(decoder.remaining() == 3);
  decoder.zeros(3);
  REQUIRE(decoder.finish("sample").ok());
}

TEST_CASE("codec: every truncation fails, reads zeros afterwards and stays failed") {
  const std::string record = sample_record();
  for (std::size_t cut = 0; cut < record.size(); ++cut) {
    CAPTURE(cut);
    Decoder decoder(std::string_view(record).substr(0, cut));
    read_sample(decoder);
    REQUIRE_FALSE(decoder.ok());
    REQUIRE(decoder.le64() == 0);
    REQUIRE(decoder.bytes().empty());
    const Status status = decoder.finish("sample");
    REQUIRE(status.error().code == ErrorCode::kCorruption);
    REQUIRE(status.error().message.find("sample") != std::string::npos);
  }
}

TEST_CASE("codec: bytes left over are corruption, and check does not mind them") {
  Decoder decoder(std::string_view("ab"));
  decoder.u8();
  REQUIRE(decoder.check("pair").ok());
  REQUIRE(decoder.finish("pair").error().message == "pair: 1 bytes too many");
  REQUIRE(decoder.rest() == "b");
}

TEST_CASE("codec: varints of every width come back, and every truncation of them fails") {
  for (const std::uint64_t number : interesting_numbers()) {
    const std::string encoded = varint_of(number);
    Decoder whole(encoded);
    REQUIRE(whole.varint() == number);
    REQUIRE(whole.finish("varint").ok());
    for (std::size_t cut = 0; cut < encoded.size(); ++cut) {
      Decoder part(std::string_view(encoded).substr(0, cut));
      REQUIRE(part.varint() == 0);
      REQUIRE_FALSE(part.ok());
    }
  }
}

TEST_CASE("codec: a varint of more than 64 bits is refused") {
  const std::string largest = varint_of(~std::uint64_t{0});
  REQUIRE(largest.size() == 10);
  for (int last = 2; last < 256; ++last) {
    std::string wide = largest;
    wide.back() = static_cast<char>(last);
    Decoder decoder(wide);
    REQUIRE(decoder.varint() == 0);
    REQUIRE_FALSE(decoder.ok());
  }
  Decoder endless(std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"));
  REQUIRE(endless.varint() == 0);
  REQUIRE_FALSE(endless.ok());
}

TEST_CASE("codec: bounded varints and counts refuse what cannot be true") {
  const std::string five = varint_of(5);
  Decoder inside(five);
  REQUIRE(inside.varint_up_to(5) == 5);
  REQUIRE(inside.ok());
  Decoder outside(five);
  REQUIRE(outside.varint_up_to(4) == 0);
  REQUIRE_FALSE(outside.ok());

  // A count of items is bounded by the bytes left: 8 bytes hold no 3 items of 4.
  std::string items = varint_of(3) + std::string(8, 'x');
  Decoder too_many(items);
  REQUIRE(too_many.count(4) == 0);
  REQUIRE_FALSE(too_many.ok());
  items += "xxxx";
  Decoder enough(items);
  REQUIRE(enough.count(4) == 3);
  const std::string most = varint_of(~std::uint64_t{0});
  Decoder huge(most);
  REQUIRE(huge.count(0) == 0);
  REQUIRE_FALSE(huge.ok());
}

TEST_CASE("codec: a length larger than the input never reads past it") {
  for (const std::uint64_t length : interesting_numbers()) {
    const std::string record = varint_of(length) + "abc";
    Decoder decoder(record);
    const std::string_view taken = decoder.bytes();
    REQUIRE(decoder.ok() == (length <= 3));
    REQUIRE(taken.size() == (length <= 3 ? length : 0));
  }
}

TEST_CASE("codec: reserved bytes have to be zero, and fail() sticks") {
  Decoder dirty(std::string_view("\0\1\0", 3));
  dirty.zeros(3);
  REQUIRE_FALSE(dirty.ok());
  Decoder refused(std::string_view("abc"));
  refused.fail();
  REQUIRE(refused.u8() == 0);
  REQUIRE_FALSE(refused.check("value").ok());
}

TEST_CASE("codec: big-endian integers sort as numbers") {
  std::vector<std::uint64_t> numbers = interesting_numbers();
  std::sort(numbers.begin(), numbers.end());
  std::string previous;
  for (const std::uint64_t number : numbers) {
    std::string key;
    append_be64(key, number);
    REQUIRE(key.size() == 8);
    REQUIRE(read_be64(key) == number);
    REQUIRE(previous <= key);
    previous = key;
  }
  std::string key = "at";
  append_be32(key, 0x01020304);
  REQUIRE(key == "at\1\2\3\4");
  REQUIRE(read_be32(key, 2) == 0x01020304);
}
