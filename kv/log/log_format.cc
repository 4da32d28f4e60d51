#include "kv/log/log_format.h"

#include "base/checksum.h"
#include "base/codec.h"
#include "base/units.h"
#include "base/uuid_codec.h"

namespace hexad::kv {
namespace {

constexpr std::string_view kMagic = "HXLOGBLK";
constexpr std::uint32_t kHeaderCrcOffset = kLogHeaderSize - 4;

Error corrupt(std::string what) {
  return Error{ErrorCode::kCorruption, "log block: " + std::move(what), ""};
}

std::size_t varint_size(std::uint64_t value) {
  std::size_t size = 1;
  while (value >= 0x80) {
    value >>= 7;
    ++size;
  }
  return size;
}

std::uint64_t body_size(std::span<const std::string_view> records) {
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    size += varint_size(records[i].size()) + varint_size(i) + records[i].size();
  }
  return size;
}

std::string encode_header(const LogBlockHeader& header) {
  std::string text;
  text.reserve(kLogHeaderSize);
  Encoder out(text);
  out.raw(kMagic);
  encode_uuid(out, header.uuid);
  out.le64(header.epoch);
  out.le64(header.position);
  out.le64(header.length);
  out.le64(header.first_lsn);
  out.le32(header.record_count);
  out.le32(header.body_length);
  out.le64(header.previous_position);
  out.le32(header.previous_crc);
  out.u8(static_cast<std::uint8_t>(header.kind));
  out.zeros(3);
  out.le64(header.watermark);
  out.le64(header.fence_end_lsn);
  out.le64(header.nonce);
  out.zeros(kHeaderCrcOffset - out.size());
  out.le32(crc32c(as_bytes(text)));
  return text;
}

// L1 to L4 and that the lengths agree with one another; nothing when all is well.
std::string_view broken_rule(const LogBlockHeader& header) {
  if (header.first_lsn == 0) return "the first LSN is 0";
  if (add_overflows(header.first_lsn, header.record_count)) return "LSNs beyond 64 bits";
  if (header.watermark >= header.first_lsn) return "the watermark covers the block itself";  // L2
  if (header.length > kMaxLogBlock ||
      header.length < std::uint64_t{kLogHeaderSize} + header.body_length + kLogTrailerSize) {
    return "the lengths do not agree";
  }
  if (add_overflows(header.position, header.length)) return "a position beyond 64 bits";
  if (header.previous_position == kNoPosition) {
    if (header.previous_crc != 0) return "a predecessor's checksum without a predecessor";
  } else if (header.previous_position >= header.position) {
    return "it follows itself or a later block";  // L3
  }
  if (header.record_count > header.body_length / 2) return "more records than bytes";
  if (header.kind == LogBlockKind::kRecords) {
    if (header.record_count == 0) return "a block of records without records";
  } else if (header.record_count != 0 || header.body_length != 0) {
    return "records where none belong";
  }
  if (header.kind == LogBlockKind::kFence ? header.fence_end_lsn != header.first_lsn - 1
                                          : header.fence_end_lsn != 0) {
    return "the fence's LSN does not fit";  // L4
  }
  return {};
}

}  // namespace

std::uint64_t log_block_length(std::span<const std::string_view> records,
                               std::uint32_t block_size) {
  return round_up(kLogHeaderSize + body_size(records) + kLogTrailerSize, block_size);
}

EncodedLogBlock encode_log_block(LogBlockHeader header, std::span<const std::string_view> records,
                                 std::uint32_t block_size) {
  const std::uint64_t body_length = body_size(records);
  header.length = round_up(kLogHeaderSize + body_length + kLogTrailerSize, block_size);
  HEXAD_ASSERT(header.length <= kMaxLogBlock);
  header.record_count = static_cast<std::uint32_t>(records.size());
  header.body_length = static_cast<std::uint32_t>(body_length);
  HEXAD_ASSERT(broken_rule(header).empty());  // L1-L4

  EncodedLogBlock encoded;
  encoded.header = header;
  encoded.bytes = AlignedBuffer(header.length);
  const MutByteView all = encoded.bytes.bytes();
  const std::string head = encode_header(header);
  copy_bytes(all, as_bytes(head));
  std::uint64_t at = kLogHeaderSize;
  std::string frame;
  for (std::size_t i = 0; i < records.size(); ++i) {
    frame.clear();
    Encoder out(frame);
    out.varint(records[i].size());
    out.varint(i);
    copy_bytes(all.subspan(at), as_bytes(frame));
    at += frame.size();
    copy_bytes(all.subspan(at), as_bytes(records[i]));
    at += records[i].size();
  }
  const std::uint32_t crc =
      crc32c(ByteView(all).subspan(kLogHeaderSize, body_length), log_block_crc_start(all));
  std::string trailer;
  Encoder(trailer).le32(crc);
  copy_bytes(all.subspan(at), as_bytes(trailer));
  fill_zero(all.subspan(at + kLogTrailerSize));
  encoded.crc = crc;
  return encoded;
}

Result<LogBlockHeader> decode_log_header(ByteView bytes) {
  if (bytes.size() < kLogHeaderSize) return corrupt("shorter than its header");
  bytes = bytes.first(kLogHeaderSize);
  if (as_text(bytes.first(kMagic.size())) != kMagic) return corrupt("no magic");
  Decoder in(bytes);
  in.raw(kMagic.size());
  LogBlockHeader header;
  header.uuid = decode_uuid(in);
  header.epoch = in.le64();
  header.position = in.le64();
  header.length = in.le64();
  header.first_lsn = in.le64();
  header.record_count = in.le32();
  header.body_length = in.le32();
  header.previous_position = in.le64();
  header.previous_crc = in.le32();
  const std::uint8_t kind = in.u8();
  in.zeros(3);
  header.watermark = in.le64();
  header.fence_end_lsn = in.le64();
  header.nonce = in.le64();
  in.zeros(kHeaderCrcOffset - (kLogHeaderSize - in.remaining()));
  const std::uint32_t crc = in.le32();
  if (crc != crc32c(bytes.first(kHeaderCrcOffset))) return corrupt("header checksum mismatch");
  HEXAD_TRY(in.finish("log block header"));
  if (kind < static_cast<std::uint8_t>(LogBlockKind::kRecords) ||
      kind > static_cast<std::uint8_t>(LogBlockKind::kFence)) {
    return corrupt("unknown kind " + std::to_string(kind));
  }
  header.kind = static_cast<LogBlockKind>(kind);
  if (const std::string_view rule = broken_rule(header); !rule.empty()) {
    return corrupt("position " + std::to_string(header.position) + ": " + std::string(rule));
  }
  return header;
}

std::uint32_t log_block_crc_start(ByteView header_bytes) {
  return crc32c(header_bytes.first(kHeaderCrcOffset));
}

Result<LogBlock> decode_log_block(ByteView bytes) {
  LogBlock block;
  HEXAD_TRY_ASSIGN(block.header, decode_log_header(bytes));
  const LogBlockHeader& header = block.header;
  const std::string where = "position " + std::to_string(header.position) + ": ";
  if (bytes.size() < header.length) {
    return corrupt(where + std::to_string(bytes.size()) + " of " + std::to_string(header.length) +
                   " bytes");
  }
  const ByteView body = bytes.subspan(kLogHeaderSize, header.body_length);
  block.crc = Decoder(bytes.subspan(kLogHeaderSize + header.body_length, kLogTrailerSize)).le32();
  if (block.crc != crc32c(body, log_block_crc_start(bytes))) {
    return corrupt(where + "body checksum mismatch");
  }
  // A body with the right checksum that does not parse was written by a bug; it is refused all the
  // same, as any bytes from a device are.
  Decoder in(body);
  block.records.reserve(header.record_count);
  for (std::uint32_t i = 0; i < header.record_count; ++i) {
    const std::uint64_t size = in.varint();
    if (in.varint() != i) in.fail();  // L1
    block.records.push_back({header.first_lsn + i, in.raw(size)});
  }
  HEXAD_TRY(in.finish("log block records"));
  return block;
}

}  // namespace hexad::kv
