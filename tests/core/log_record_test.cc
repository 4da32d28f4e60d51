#include "core/log_record.h"

#include <catch2/catch.hpp>
#include <limits>

#include "tests/core/broken_input.h"
#include "tests/core/random_records.h"

namespace hexad::core {
namespace {

TEST_CASE("log_record: random records come back as they were") {
  const std::uint64_t seed = GENERATE(1, 2, 3, 4);
  CAPTURE(seed);
  io::Rng rng(seed);
  for (int i = 0; i < 500; ++i) {
    const RecordShape shape = random_shape(rng);
    const LogRecord record = random_log_record(rng, shape);
    const Result<LogRecord> back = decode_log_record(encode_log_record(record, shape), shape);
    REQUIRE(back.ok());
    REQUIRE(*back == record);
  }
}

TEST_CASE("log_record: the decoder survives every truncation, flip, loss and doubling of a byte") {
  const std::uint64_t seed = GENERATE(11, 12, 13);
  CAPTURE(seed);
  io::Rng rng(seed);
  for (int tried = 0; tried < 12;) {
    const RecordShape shape = random_shape(rng);
    const std::string good = encode_log_record(random_log_record(rng, shape), shape);
    if (good.size() > 500) continue;
    ++tried;
    for_each_broken(good, rng, [&](std::string_view input) {
      const Result<LogRecord> decoded = decode_log_record(input, shape);
      if (decoded.ok()) {
        REQUIRE(encode_log_record(*decoded, shape) == input);
      } else {
        REQUIRE(decoded.error().code == ErrorCode::kCorruption);
      }
    });
    for (std::size_t size = 0; size < good.size(); ++size) {
      REQUIRE_FALSE(decode_log_record(std::string_view(good).substr(0, size), shape).ok());
    }
  }
}

TEST_CASE("log_record: live bytes go down as well as up") {
  const RecordShape shape;
  LogRecord record;
  for (const std::int64_t bytes :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, std::int64_t{-65536},
        std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    record.live.push_back({{1, 2, 3}, bytes});
  }
  REQUIRE(decode_log_record(encode_log_record(record, shape), shape).value() == record);
}

TEST_CASE("log_record: a removed key differs from a key with an empty value") {
  const RecordShape shape;
  LogRecord record;
  record.images.push_back({"gone", std::nullopt});
  record.images.push_back({"empty", ""});
  const LogRecord back = decode_log_record(encode_log_record(record, shape), shape).value();
  REQUIRE_FALSE(back.images[0].value.has_value());
  REQUIRE(back.images[1].value == "");
}

TEST_CASE("log_record: a stripe that was durable before needs no sums, any other does") {
  const RecordShape shape;
  LogRecord record;
  record.allocated.push_back({{1, 2, 3}, 4096, true, {}});
  std::string bytes = encode_log_record(record, shape);
  REQUIRE(decode_log_record(bytes, shape).value() == record);
  // Kind, time, no images, one stripe: the flags of the stripe are the byte at 11.
  REQUIRE(bytes[11] == 1);
  bytes[11] = 0;
  REQUIRE(decode_log_record(bytes, shape).error().code == ErrorCode::kCorruption);
}

TEST_CASE("log_record: a zone with two slabs on one device is refused") {
  const RecordShape shape;
  LogRecord record;
  record.zones.push_back({1, 512, {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}}});
  std::string bytes = encode_log_record(record, shape);
  REQUIRE(decode_log_record(bytes, shape).value() == record);
  bytes[bytes.size() - 2] = 3;
  REQUIRE(decode_log_record(bytes, shape).error().code == ErrorCode::kCorruption);
}

TEST_CASE("log_record: a count that cannot be true allocates nothing") {
  const RecordShape shape;
  std::string bytes = encode_log_record({}, shape);
  bytes.resize(9);
  Encoder(bytes).varint(std::numeric_limits<std::uint64_t>::max());
  REQUIRE(decode_log_record(bytes, shape).error().code == ErrorCode::kCorruption);
}

}  // namespace
}  // namespace hexad::core
