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

// From this many bytes on the sum of a body is joined to that of its header, which costs as much as
// to sum some KiB.
constexpr std::uint64_t kSummedEarly = 64 << 10;

std::size_t varint_size(std::uint64_t value) {
  std::size_t size = 1;
  while (value >= 0x80) {
    value >>= 7;
    ++size;
  }
  return size;
}

std::uint64_t framed_size(std::uint64_t size, std::size_t index) {
  return varint_size(size) + varint_size(index) + size;
}

std::uint64_t block_length(std::uint64_t body_length, std::uint32_t block_size) {
  return round_up(kLogHeaderSize + body_length + kLogTrailerSize, block_size);
}

// Writes what Encoder writes, to memory that has room for it.
class Place {
 public:
  explicit Place(std::byte* at) : at_(at) {}
  void raw(std::string_view bytes) {
    copy_bytes({at_, bytes.size()}, as_bytes(bytes));
    at_ += bytes.size();
  }
  void varint(std::uint64_t value) {
    while (value >= 0x80) {
      *at_++ = static_cast<std::byte>(value | 0x80);
      value >>= 7;
    }
    *at_++ = static_cast<std::byte>(value);
  }
  void le32(std::uint32_t value) { little_endian(value); }
  void le64(std::uint64_t value) { little_endian(value); }
  void u8(std::uint8_t value) { *at_++ = static_cast<std::byte>(value); }
  void zeros(std::size_t count) {
    fill_zero({at_, count});
    at_ += count;
  }
  std::byte* at() const { return at_; }

 private:
  template <typename T>
  void little_endian(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) at_[i] = static_cast<std::byte>(value >> (8 * i));
    at_ += sizeof(T);
  }

  std::byte* at_;
};

void encode_header(const LogBlockHeader& header, std::byte* begin) {
  Place out(begin);
  out.raw(kMagic);
  for (const std::uint8_t byte : header.uuid.bytes) out.u8(byte);
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
  out.zeros(static_cast<std::size_t>(begin + kHeaderCrcOffset - out.at()));
  out.le32(crc32c(ByteView(begin, kHeaderCrcOffset)));
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
  std::uint64_t body = 0;
  for (std::size_t i = 0; i < records.size(); ++i) body += framed_size(records[i].size(), i);
  return block_length(body, block_size);
}

LogBody encode_log_body(const GatheredRecords& records, std::uint32_t block_size,
                        LogBuffers& buffers) {
  std::uint64_t size = 0;
  std::size_t count = 0;
  for (const GatheredRecords::Record& record : records.records()) {
    size += framed_size(record.size, count++);
  }
  const std::uint64_t length = block_length(size, block_size);
  HEXAD_ASSERT(length <= kMaxLogBlock);
  LogBody body;
  body.record_count = static_cast<std::uint32_t>(count);
  body.length = static_cast<std::uint32_t>(size);
  body.buffer = buffers.take(length);
  std::byte* const begin = body.buffer.bytes.data();
  Place out(begin + kLogHeaderSize);
  auto part = records.parts().begin();
  std::size_t index = 0;
  for (const GatheredRecords::Record& record : records.records()) {
    out.varint(record.size);
    out.varint(index++);
    const auto end = records.parts().begin() + static_cast<std::ptrdiff_t>(record.parts_until);
    for (; part != end; ++part) out.raw(*part);
  }
  const std::uint64_t used = kLogHeaderSize + size + kLogTrailerSize;
  if (body.buffer.written > used) {
    fill_zero({begin + used, body.buffer.written - used});  // LB2
  }
  body.buffer.written = used;
  if (size >= kSummedEarly) body.sum = crc32c({begin + kLogHeaderSize, size});
  return body;
}

EncodedLogBlock encode_log_block(LogBlockHeader header, LogBody body) {
  header.length = body.buffer.bytes.size();
  header.record_count = body.record_count;
  header.body_length = body.length;
  HEXAD_ASSERT(broken_rule(header).empty());  // L1-L4

  EncodedLogBlock encoded;
  encoded.header = header;
  encoded.bytes = std::move(body.buffer.bytes);
  std::byte* const begin = encoded.bytes.data();
  encode_header(header, begin);
  const std::uint32_t start = log_block_crc_start({begin, kLogHeaderSize});
  std::byte* const records = begin + kLogHeaderSize;
  encoded.crc = body.sum.has_value() ? crc32c_joined(start, *body.sum, body.length)
                                     : crc32c({records, body.length}, start);
  Place(records + body.length).le32(encoded.crc);
  return encoded;
}

EncodedLogBlock encode_log_block(LogBlockHeader header, std::span<const std::string_view> records,
                                 std::uint32_t block_size) {
  GatheredRecords gathered;
  gathered.reserve(records.size(), records.size());
  for (const std::string_view record : records) {
    gathered.begin_record();
    gathered.add_part(record);
  }
  LogBuffers none(0);
  return encode_log_block(header, encode_log_body(gathered, block_size, none));
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
