#include "core/record/sum_codec.h"

#include <catch2/catch.hpp>

namespace hexad::core {
namespace {

const SumList kSums = {0, 1, 0xffffffff, 0x12345678};

TEST_CASE("sum_codec: sums come back, in as many bytes as their type has") {
  const ChecksumType type = GENERATE(ChecksumType::kCrc32c, ChecksumType::kXxh3);
  SumList sums = kSums;
  if (checksum_size(type) == 8) sums.push_back(0xffff'ffff'ffff'fffe);
  std::string bytes;
  Encoder out(bytes);
  encode_sums(out, sums, type);
  CHECK(bytes.size() == sums.size() * checksum_size(type));
  bytes += "next";
  Decoder in(bytes);
  CHECK(decode_sums(in, sums.size(), type) == sums);
  CHECK(in.ok());
  CHECK(in.remaining() == 4);
}

TEST_CASE("sum_codec: sums that are not there fail the decoder, however many are asked for") {
  const ChecksumType type = GENERATE(ChecksumType::kCrc32c, ChecksumType::kXxh3);
  const std::uint64_t count = GENERATE(std::uint64_t{5}, ~std::uint64_t{0});
  std::string bytes;
  Encoder out(bytes);
  encode_sums(out, kSums, type);
  Decoder in(bytes);
  CHECK(decode_sums(in, count, type).empty());
  CHECK_FALSE(in.ok());
}

TEST_CASE("sum_codec: no sums take no bytes") {
  std::string bytes;
  Encoder out(bytes);
  encode_sums(out, {}, ChecksumType::kCrc32c);
  CHECK(bytes.empty());
  Decoder in(bytes);
  CHECK(decode_sums(in, 0, ChecksumType::kCrc32c).empty());
  CHECK(in.ok());
}

}  // namespace
}  // namespace hexad::core
