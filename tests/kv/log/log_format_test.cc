#include "kv/log/log_format.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "base/checksum.h"
#include "base/codec.h"
#include "io/rng.h"

namespace hexad::kv {
namespace {

constexpr std::uint32_t kBlock = 512;

LogBlockHeader sample_header() {
  LogBlockHeader header;
  header.uuid.bytes[0] = 7;
  header.epoch = 3;
  header.position = 10 * kBlock;
  header.first_lsn = 100;
  header.previous_position = 8 * kBlock;
  header.previous_crc = 0xabcdef01;
  header.watermark = 90;
  header.nonce = 0x1122334455667788;
  return header;
}

EncodedLogBlock sample(const std::vector<std::string>& records, LogBlockHeader header) {
  const std::vector<std::string_view> views(records.begin(), records.end());
  return encode_log_block(header, views, kBlock);
}

TEST_CASE("log_format: a block comes back as it was encoded") {
  for (const std::size_t count : {1u, 2u, 127u, 128u, 300u}) {
    std::vector<std::string> records;
    for (std::size_t i = 0; i < count; ++i) {
      records.push_back(std::string(i * 7 % 400, static_cast<char>('a' + i % 26)));
    }
    const EncodedLogBlock encoded = sample(records, sample_header());
    REQUIRE(encoded.bytes.size() % kBlock == 0);
    REQUIRE(encoded.bytes.size() == encoded.header.length);
    const Result<LogBlock> decoded = decode_log_block(encoded.bytes);
    REQUIRE(decoded.ok());
    REQUIRE(decoded->header == encoded.header);
    REQUIRE(decoded->crc == encoded.crc);
    REQUIRE(decoded->point() == encoded.point());
    REQUIRE(decoded->records.size() == count);
    for (std::size_t i = 0; i < count; ++i) {
      REQUIRE(decoded->records[i].lsn == 100 + i);
      REQUIRE(decoded->records[i].bytes == records[i]);
    }
  }
}

// LB2, and every way that a block is encoded gives the same bytes: records in parts, in memory that
// held another block, with a sum of the body that is joined to that of the header.
TEST_CASE("log_format: a block is the same whatever its memory and its parts were") {
  io::Rng rng(95);
  LogBuffers buffers(LogBuffers::kMost);
  GatheredRecords gathered;
  bool joined = false;
  bool used_again = false;
  for (int round = 0; round < 400; ++round) {
    std::vector<std::string> records(1 + rng.below(rng.chance(1, 4) ? 200 : 3));
    const std::uint64_t longest = rng.chance(1, 8) ? 40'000 : 900;
    for (std::string& record : records) {
      record.resize(rng.below(longest));
      for (char& byte : record) byte = static_cast<char>(1 + rng.below(255));
    }
    gathered.clear();
    for (const std::string_view record : records) {
      gathered.begin_record();
      for (std::size_t at = 0; at < record.size();) {
        const std::string_view part = record.substr(at, rng.below(record.size() + 1));
        gathered.add_part(part);
        at += part.size();
      }
    }
    LogBody body = encode_log_body(gathered, kBlock, buffers);
    joined |= body.sum.has_value();
    EncodedLogBlock block = encode_log_block(sample_header(), std::move(body));
    const EncodedLogBlock plain = sample(records, sample_header());
    REQUIRE(block.header == plain.header);
    REQUIRE(block.crc == plain.crc);
    REQUIRE(as_text(block.bytes) == as_text(plain.bytes));
    REQUIRE(decode_log_block(block.bytes)->crc == block.crc);
    const std::byte* const memory = block.bytes.data();
    const std::size_t used = kLogHeaderSize + block.header.body_length + kLogTrailerSize;
    REQUIRE(is_zero(block.bytes.bytes().subspan(used)));
    const std::uint64_t length = block.bytes.size();
    buffers.put(block.take_buffer());
    LogBuffer again = buffers.take(length);
    used_again |= again.bytes.data() == memory && again.written == used;
    buffers.put(std::move(again));
  }
  REQUIRE(joined);
  REQUIRE(used_again);
}

TEST_CASE("log_format: empty blocks and fences have no records and keep the LSN") {
  LogBlockHeader header = sample_header();
  header.kind = LogBlockKind::kEmpty;
  const EncodedLogBlock empty = sample({}, header);
  REQUIRE(empty.bytes.size() == kBlock);
  REQUIRE(decode_log_block(empty.bytes)->header.last_lsn() == 99);
  header.kind = LogBlockKind::kFence;
  header.fence_end_lsn = 99;
  const EncodedLogBlock fence = sample({}, header);
  REQUIRE(decode_log_block(fence.bytes)->header.fence_end_lsn == 99);
  REQUIRE(fence.crc != empty.crc);
}

TEST_CASE("log_format: the block's crc tells blocks apart that differ in the header alone") {
  LogBlockHeader header = sample_header();
  const std::uint32_t crc = sample({"x"}, header).crc;
  header.epoch += 1;
  REQUIRE(sample({"x"}, header).crc != crc);
  header.epoch -= 1;
  header.nonce += 1;
  REQUIRE(sample({"x"}, header).crc != crc);
}

TEST_CASE("log_format: every truncation is refused") {
  const EncodedLogBlock encoded = sample({std::string(700, 'x'), "", "z"}, sample_header());
  for (std::size_t cut = 0; cut < encoded.bytes.size(); ++cut) {
    CAPTURE(cut);
    const auto part = encoded.bytes.bytes().first(cut);
    REQUIRE(decode_log_block(part).error().code == ErrorCode::kCorruption);
    REQUIRE(decode_log_header(part).ok() == (cut >= kLogHeaderSize));
  }
}

TEST_CASE("log_format: every flipped bit before the padding is refused") {
  EncodedLogBlock encoded = sample({std::string(300, 'x'), "yy"}, sample_header());
  const std::size_t used = kLogHeaderSize + encoded.header.body_length + kLogTrailerSize;
  for (std::size_t bit = 0; bit < encoded.bytes.size() * 8; ++bit) {
    std::byte& byte = encoded.bytes.data()[bit / 8];
    byte ^= std::byte{1} << bit % 8;
    CAPTURE(bit);
    REQUIRE(decode_log_block(encoded.bytes).ok() == (bit / 8 >= used));
    byte ^= std::byte{1} << bit % 8;
  }
}

// A header with this change and a right checksum.
ErrorCode code_of(std::size_t offset, std::uint64_t value, std::size_t size) {
  EncodedLogBlock encoded = sample({"abc"}, sample_header());
  std::memcpy(encoded.bytes.data() + offset, &value, size);
  const std::uint32_t crc = crc32c(encoded.bytes.bytes().first(kLogHeaderSize - 4));
  std::memcpy(encoded.bytes.data() + kLogHeaderSize - 4, &crc, 4);
  const Result<LogBlockHeader> header = decode_log_header(encoded.bytes);
  return header.ok() ? ErrorCode::kUnknown : header.error().code;
}

TEST_CASE("log_format: headers that break a rule are refused in spite of a right checksum") {
  const auto offset_ok = code_of(24, 5, 8);  // another epoch
  REQUIRE(offset_ok == ErrorCode::kUnknown);
  REQUIRE(code_of(32, ~0ull - 3, 8) == ErrorCode::kCorruption);    // position + length wraps
  REQUIRE(code_of(40, 64, 8) == ErrorCode::kCorruption);           // shorter than the header
  REQUIRE(code_of(40, 1ull << 40, 8) == ErrorCode::kCorruption);   // over the limit
  REQUIRE(code_of(48, 0, 8) == ErrorCode::kCorruption);            // LSN 0
  REQUIRE(code_of(48, ~0ull, 8) == ErrorCode::kCorruption);        // LSNs wrap
  REQUIRE(code_of(48, 90, 8) == ErrorCode::kCorruption);           // L2: watermark 90
  REQUIRE(code_of(56, 0, 4) == ErrorCode::kCorruption);            // no records
  REQUIRE(code_of(56, 1000, 4) == ErrorCode::kCorruption);         // more than fit
  REQUIRE(code_of(60, 0xffffffff, 4) == ErrorCode::kCorruption);   // body beyond the block
  REQUIRE(code_of(64, 10 * kBlock, 8) == ErrorCode::kCorruption);  // L3: follows itself
  REQUIRE(code_of(64, ~0ull, 8) == ErrorCode::kCorruption);        // first, but a crc before it
  REQUIRE(code_of(76, 0, 1) == ErrorCode::kCorruption);            // no such kind
  REQUIRE(code_of(76, 4, 1) == ErrorCode::kCorruption);
  REQUIRE(code_of(76, 3, 1) == ErrorCode::kCorruption);   // a fence with records
  REQUIRE(code_of(77, 1, 1) == ErrorCode::kCorruption);   // reserved
  REQUIRE(code_of(88, 1, 8) == ErrorCode::kCorruption);   // not a fence
  REQUIRE(code_of(96, 1, 8) == ErrorCode::kUnknown);      // another writer
  REQUIRE(code_of(104, 1, 1) == ErrorCode::kCorruption);  // reserved
  REQUIRE(code_of(123, 1, 1) == ErrorCode::kCorruption);  // reserved
}

TEST_CASE("log_format: garbage is refused") {
  const std::uint64_t seed = 42;
  CAPTURE(seed);
  io::Rng rng(seed);
  for (int round = 0; round < 2000; ++round) {
    Bytes bytes(rng.below(2000));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng.next());
    if (bytes.size() > 8 && round % 2 == 0) std::memcpy(bytes.data(), "HXLOGBLK", 8);
    REQUIRE_FALSE(decode_log_block(bytes).ok());
  }
}

}  // namespace
}  // namespace hexad::kv
