// Any bytes as a log block whose checksums fit, also one of many pieces: what is accepted keeps the
// rules of blocks, and is written again as it was.
#include <cstdint>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/checksum.h"
#include "base/codec.h"
#include "kv/log/log_format.h"
#include "tests/format/golden_bytes.h"
#include "tools/build/fuzz_seeds.h"

using namespace hexad;
using namespace hexad::kv;

namespace {

constexpr std::uint32_t kBlock = 512;
constexpr std::size_t kCrc = 4;             // bytes
constexpr std::size_t kBodyLengthAt = 60;   // in the header
constexpr std::size_t kRoom = 64 * kBlock;  // bytes of a block; lengths beyond are refused

void put_crc(std::string& bytes, std::size_t at, std::uint32_t crc) {
  std::string text;
  Encoder(text).le32(crc);
  bytes.replace(at, text.size(), text);
}

// Both checksums, where the body lies inside.
void repair(std::string& bytes) {
  bytes.resize(std::max<std::size_t>(bytes.size(), kLogHeaderSize));
  const std::size_t end = kLogHeaderSize - kCrc;
  put_crc(bytes, end, crc32c(as_bytes(bytes).first(end)));
  const std::uint64_t body = Decoder(std::string_view(bytes).substr(kBodyLengthAt)).le32();
  if (body + kLogTrailerSize > bytes.size() - kLogHeaderSize) return;
  put_crc(
      bytes, kLogHeaderSize + body,
      crc32c(as_bytes(bytes).subspan(kLogHeaderSize, body), log_block_crc_start(as_bytes(bytes))));
}

}  // namespace

std::vector<std::string> hexad::testing::fuzz_seeds() {
  std::vector<std::string> seeds = {std::string(golden_bytes("log_block")),
                                    std::string(golden_bytes("log_fence"))};
  LogBlockHeader header;
  header.uuid.bytes[0] = 1;
  header.epoch = 3;
  header.first_lsn = 700;
  header.position = 4 * kBlock;
  header.previous_position = kBlock;
  const std::string large(1000, 'x');
  const std::vector<std::string_view> records = {"one", large, "", large};
  seeds.emplace_back(as_text(encode_log_block(header, records, kBlock).bytes));
  header.kind = LogBlockKind::kEmpty;
  header.watermark = 699;
  seeds.emplace_back(as_text(encode_log_block(header, {}, kBlock).bytes));
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kRoom) return 0;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  decode_log_block(as_bytes(bytes)).status().ignore();
  repair(bytes);
  bytes.resize(kRoom);  // padding is not looked at
  const Result<LogBlock> block = decode_log_block(as_bytes(bytes));
  if (!block.ok()) return 0;
  const LogBlockHeader& header = block->header;
  std::vector<std::string_view> records;
  for (std::size_t i = 0; i < block->records.size(); ++i) {
    HEXAD_ASSERT(block->records[i].lsn == header.first_lsn + i);  // L1
    records.push_back(block->records[i].bytes);
  }
  HEXAD_ASSERT(header.watermark < header.first_lsn && header.last_lsn() + 1 >= header.first_lsn);
  // Scans refuse a block that is longer than it has to be; an encoder makes none.
  if (header.length != log_block_length(records, kBlock)) return 0;
  const EncodedLogBlock again = encode_log_block(header, records, kBlock);
  HEXAD_ASSERT(again.header == header && again.crc == block->crc);
  const std::size_t used = kLogHeaderSize + header.body_length + kLogTrailerSize;
  HEXAD_ASSERT(as_text(again.bytes).substr(0, used) == bytes.substr(0, used));
  return 0;
}
