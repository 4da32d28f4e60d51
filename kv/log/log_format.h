// The log block: header, framed records, checksum, zero padding (doc/format.md, "Log block").
// Pure encoding and decoding; where blocks go is kv/log/log_writer.h, finding them is
// kv/log/log_scan.h.
//
// Invariants of every block that decodes
//   L1  first_lsn >= 1, and the records carry first_lsn, first_lsn + 1, ... without a gap
//   L2  watermark < first_lsn: a block never claims that its own records are durable
//   L3  previous.position < position, or it follows kNoPosition: chains never run in a circle
//   L4  a fence has no records, and first_lsn = fence_end_lsn + 1
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/id.h"
#include "base/ids.h"
#include "kv/log/log_buffers.h"

namespace hexad::kv {

// A place in the endless log, in bytes; it only grows. Its physical place in an area of `size`
// bytes is position % size. A block never wraps: position % size + length <= size.
using LogPosition = Id<struct LogPositionTag, std::uint64_t>;
inline constexpr LogPosition kNoPosition = ~LogPosition{0};

inline constexpr std::uint32_t kLogHeaderSize = 128;       // bytes
inline constexpr std::uint32_t kLogTrailerSize = 4;        // bytes: the block's crc32c
inline constexpr std::uint64_t kMaxLogBlock = 128u << 20;  // bytes, padding included

// Values are on disk; never reused.
enum class LogBlockKind : std::uint8_t {
  kRecords = 1,
  kEmpty = 2,  // carries only a watermark
  kFence = 3,  // begins an epoch; everything of older epochs above fence_end_lsn is void
};

// Names one block so that no other block of any lap or epoch is mistaken for it, and says where
// the log stands after it. The root stores one as its trim point.
struct LogPoint {
  LogPosition position = kNoPosition;  // of the block; kNoPosition before the first block
  LogPosition end = 0;                 // first byte after it
  std::uint32_t crc = 0;               // the block's crc32c
  Epoch epoch = 0;
  Lsn lsn = 0;  // the last LSN up to and including this block

  bool operator==(const LogPoint&) const = default;
};

// Where the log of a new store begins: nothing before it, the first LSN is 1.
inline constexpr LogPoint kLogOrigin{};

struct LogBlockHeader {
  Uuid uuid;  // of the store
  LogBlockKind kind = LogBlockKind::kRecords;
  Epoch epoch = 0;
  LogPosition position = 0;
  std::uint64_t length = 0;  // bytes on the device, padding included
  Lsn first_lsn = 1;         // of the records; without records the next LSN
  std::uint32_t record_count = 0;
  std::uint32_t body_length = 0;                // bytes of framed records
  LogPosition previous_position = kNoPosition;  // of the block that this one follows
  std::uint32_t previous_crc = 0;               // of that block; 0 after kNoPosition
  Lsn watermark = 0;        // all LSNs up to it were durable when this was written
  Lsn fence_end_lsn = 0;    // fences: the last LSN of the older epochs that counts
  std::uint64_t nonce = 0;  // of the writer of the epoch; 0: of before 2026-11-26

  // The last LSN up to and including this block.
  Lsn last_lsn() const { return first_lsn + record_count - 1; }
  LogPosition end() const { return position + length; }
  bool operator==(const LogBlockHeader&) const = default;
};

struct LogRecord {
  Lsn lsn = 0;
  std::string_view bytes;
};

struct LogBlock {
  LogBlockHeader header;
  std::uint32_t crc = 0;
  std::vector<LogRecord> records;  // views into the decoded bytes

  LogPoint point() const {
    return {header.position, header.end(), crc, header.epoch, header.last_lsn()};
  }
};

// The records of a block before they are copied into it: each in parts that lie anywhere.
class GatheredRecords {
 public:
  struct Record {
    std::uint64_t size = 0;       // bytes of all its parts
    std::size_t parts_until = 0;  // its parts end there, and begin where those before it end
  };

  void reserve(std::size_t records, std::size_t parts) {
    records_.reserve(records);
    parts_.reserve(parts);
  }
  // The next record, without parts so far.
  void begin_record() { records_.push_back({0, parts_.size()}); }
  // The next part of that record. What it points to has to stay until the block is encoded.
  void add_part(std::string_view part) {
    parts_.push_back(part);
    records_.back().size += part.size();
    records_.back().parts_until = parts_.size();
  }
  // None again; its memory is kept.
  void clear() {
    records_.clear();
    parts_.clear();
  }
  const std::vector<Record>& records() const { return records_; }
  const std::vector<std::string_view>& parts() const { return parts_; }

 private:
  std::vector<Record> records_;
  std::vector<std::string_view> parts_;
};

// The records of a block in the block's own memory, framed and padded. Head and trailer are missing
// until it is known what the block follows.
struct LogBody {
  LogBuffer buffer;
  std::uint32_t record_count = 0;
  std::uint32_t length = 0;          // bytes of framed records
  std::optional<std::uint32_t> sum;  // their crc32c, where it was worth while to have it early
};

struct EncodedLogBlock {
  AlignedBuffer bytes;  // header.length of them
  LogBlockHeader header;
  std::uint32_t crc = 0;

  // Its memory, for another one.
  LogBuffer take_buffer() {
    return {std::move(bytes), kLogHeaderSize + header.body_length + kLogTrailerSize};
  }

  LogPoint point() const {
    return {header.position, header.end(), crc, header.epoch, header.last_lsn()};
  }
};

// Bytes that a block with these records takes, padded to `block_size`. Cost: one pass over sizes.
std::uint64_t log_block_length(std::span<const std::string_view> records, std::uint32_t block_size);

// The records, in memory of `buffers`. Asserts that the block is no longer than kMaxLogBlock: the
// caller has checked. Needs nothing that is known only when the block has its place, so nobody has
// to wait for it. Cost: one copy, and for long ones a crc pass.
LogBody encode_log_body(const GatheredRecords& records, std::uint32_t block_size,
                        LogBuffers& buffers);
// Completes the block; length, record_count and body_length of `header` are computed here. The
// records have the LSNs from header.first_lsn on; there may be none. Asserts L1-L4. Cost: a crc
// pass over a short body; for a long one less than a microsecond.
EncodedLogBlock encode_log_block(LogBlockHeader header, LogBody body);
// The same, of records in one part each.
EncodedLogBlock encode_log_block(LogBlockHeader header, std::span<const std::string_view> records,
                                 std::uint32_t block_size);

// The header alone, its own checksum and L1-L4 checked; the body is not looked at. `bytes` may be
// longer than the header. Errors: kCorruption.
Result<LogBlockHeader> decode_log_header(ByteView bytes);

// crc32c of a whole block, from the header's bytes (at least kLogHeaderSize) on; continued over the
// body with crc32c(). The header's own checksum is left out: a crc over data and its own crc would
// be the same for all data.
std::uint32_t log_block_crc_start(ByteView header_bytes);

// The whole block with its checksum; `bytes` starts at the header and may be longer than the
// block. Padding is not looked at: damage there must not cost a good block. Errors: kCorruption.
Result<LogBlock> decode_log_block(ByteView bytes);

}  // namespace hexad::kv
