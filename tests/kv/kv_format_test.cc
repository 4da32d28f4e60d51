// Golden bytes of what kv stores, in both directions.
#include <catch2/catch.hpp>

#include "kv/lmdb/lmdb_state.h"
#include "kv/log/log_format.h"
#include "tests/kv/golden.h"

namespace hexad::kv {
namespace {

LogBlockHeader golden_header() {
  LogBlockHeader header;
  for (std::uint8_t i = 0; i < 16; ++i) header.uuid.bytes[i] = static_cast<std::uint8_t>(i + 1);
  header.epoch = 2;
  header.position = 0x3000;
  header.first_lsn = 41;
  header.previous_position = 0x2000;
  header.previous_crc = 0x89abcdef;
  header.watermark = 38;
  return header;
}

std::string padded(std::string bytes) {
  bytes.resize(512);
  return bytes;
}

TEST_CASE("kv_format: the golden log block is written and read") {
  const std::string golden = padded(testing::golden("log_block"));
  const std::string_view records[] = {"hello", ""};
  const EncodedLogBlock encoded = encode_log_block(golden_header(), records, 512);
  REQUIRE(as_text(encoded.bytes) == golden);
  const Result<LogBlock> block = decode_log_block(as_bytes(golden));
  REQUIRE(block.ok());
  REQUIRE(block->header == encoded.header);
  REQUIRE(block->crc == 0xc21993ee);
  REQUIRE(block->records[0].bytes == "hello");
  REQUIRE(block->records[1].lsn == 42);
}

TEST_CASE("kv_format: the golden fence is written and read") {
  const std::string golden = padded(testing::golden("log_fence"));
  LogBlockHeader header = golden_header();
  header.kind = LogBlockKind::kFence;
  header.watermark = 40;
  header.fence_end_lsn = 40;
  header.nonce = 0x1112131415161718;
  REQUIRE(as_text(encode_log_block(header, {}, 512).bytes) == golden);
  REQUIRE(decode_log_block(as_bytes(golden))->header.fence_end_lsn == 40);
}

TEST_CASE(
    "kv_format: the golden LSN marker is written and read, every truncation and bit refused") {
  std::string golden = testing::golden("lmdb_state");
  const LmdbState state{golden_header().uuid, 41, 2, 7, 0x1122334455667788};
  REQUIRE(encode_lmdb_state(state) == golden);
  REQUIRE(decode_lmdb_state(golden).value() == state);
  for (std::size_t cut = 0; cut < golden.size(); ++cut) {
    REQUIRE_FALSE(decode_lmdb_state(std::string_view(golden).substr(0, cut)).ok());
  }
  REQUIRE_FALSE(decode_lmdb_state(golden + '\0').ok());
  for (std::size_t bit = 0; bit < golden.size() * 8; ++bit) {
    golden[bit / 8] ^= static_cast<char>(1 << bit % 8);
    REQUIRE_FALSE(decode_lmdb_state(golden).ok());
    golden[bit / 8] ^= static_cast<char>(1 << bit % 8);
  }
}

}  // namespace
}  // namespace hexad::kv
