// Whole logs in three copies, made of blocks that the input describes: honest ones, and such as no
// writer would leave, with checksums and predecessors that fit all the same; or of any bytes, with
// the checksums of whatever looks like a block made right. A scan gives a chain that can be read,
// whatever there is, and where it finds no damage the log goes on behind it.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/checksum.h"
#include "base/codec.h"
#include "base/units.h"
#include "tests/kv/log/log_model.h"
#include "tools/build/fuzz_seeds.h"

using namespace hexad;
using namespace hexad::kv;
using namespace hexad::kv::testing;

namespace {

constexpr std::size_t kCopies = 3;
constexpr std::uint64_t kBlocks = 64;
constexpr std::uint64_t kSize = kBlocks * kBlock;  // bytes of an area
constexpr std::size_t kMostBlocks = 40;            // that one input describes
constexpr std::uint64_t kLaps = 3;
constexpr std::uint8_t kRawMode = 0x80;  // of the first byte

std::string le32(std::uint32_t value) {
  std::string text;
  Encoder(text).le32(value);
  return text;
}

// The bytes of a header as doc/format.md has them, also of one that no encoder would write.
std::string header_bytes(const LogBlockHeader& header) {
  std::string text;
  Encoder out(text);
  out.raw("HXLOGBLK");
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
  out.zeros(kLogHeaderSize - 4 - text.size());
  out.le32(crc32c(as_bytes(text)));
  return text;
}

struct Described {
  LogPoint point;
  std::string bytes;
  unsigned copies = 0;  // bit i: copy i has it
};

// What the flags of a block say; without any it is an honest one that follows its predecessor.
constexpr std::uint8_t kOwnPlace = 0x01;  // a byte says where, and a byte in which lap
constexpr std::uint8_t kOwnLsn = 0x02;    // a byte says the first LSN
constexpr std::uint8_t kOwnEpoch = 0x04;  // a byte says the epoch
constexpr std::uint8_t kOwnWatermark = 0x08;
constexpr std::uint8_t kTorn = 0x10;              // the body does not fit its checksum
constexpr std::uint8_t kForeign = 0x20;           // of another store
constexpr std::uint8_t kSomeCopies = 0x40;        // a byte says in which copies it is
constexpr std::uint8_t kOtherPredecessor = 0x80;  // a byte says which

Described describe(Decoder& in, const std::vector<Described>& before, const Uuid& uuid) {
  const std::uint8_t flags = in.u8();
  const std::uint8_t shape = in.u8();
  LogPoint previous = before.empty() ? kLogOrigin : before.back().point;
  if ((flags & kOtherPredecessor) != 0) {
    const std::size_t which = in.u8() % (before.size() + 1);
    previous = which == 0 ? kLogOrigin : before[which - 1].point;
  }
  LogBlockHeader header;
  header.uuid = uuid;
  if ((flags & kForeign) != 0) header.uuid.bytes[5] ^= 1;
  header.kind = static_cast<LogBlockKind>(1 + (shape & 3) % 3);
  const bool fence = header.kind == LogBlockKind::kFence;
  header.epoch = (flags & kOwnEpoch) != 0 ? in.u8() % 6 : previous.epoch + (fence ? 1 : 0);
  header.first_lsn = (flags & kOwnLsn) != 0 ? in.u8() : previous.lsn + 1;
  header.previous_position = previous.position;
  header.previous_crc = previous.crc;
  header.watermark = (flags & kOwnWatermark) != 0 ? Lsn{in.u8()} : previous.lsn;
  if (fence) header.fence_end_lsn = header.first_lsn - 1;
  std::string body;
  if (header.kind == LogBlockKind::kRecords) {
    header.record_count = 1 + (shape >> 2 & 7);
    Encoder out(body);
    for (std::uint32_t i = 0; i < header.record_count; ++i) {
      const std::string record(std::size_t{25} * (shape >> 5) + i, static_cast<char>('a' + i));
      out.varint(record.size());
      out.varint(i);
      out.raw(record);
    }
  }
  header.body_length = static_cast<std::uint32_t>(body.size());
  header.length = round_up(kLogHeaderSize + body.size() + kLogTrailerSize, kBlock);
  header.position = previous.end;
  if (header.position % kSize + header.length > kSize) {
    header.position = round_up(header.position, kSize);
  }
  if ((flags & kOwnPlace) != 0) {
    header.position = in.u8() % kBlocks * kBlock;
    header.position += in.u8() % kLaps * kSize;
  }
  Described block;
  block.copies = (flags & kSomeCopies) != 0 ? in.u8() % (1U << kCopies) : (1U << kCopies) - 1;
  block.bytes = header_bytes(header) + body;
  const std::uint32_t crc = crc32c(as_bytes(body), log_block_crc_start(as_bytes(block.bytes)));
  block.bytes += le32((flags & kTorn) != 0 ? ~crc : crc);
  block.bytes.resize(header.length);
  block.point = {header.position, header.end(), crc, header.epoch, header.last_lsn()};
  return block;
}

// Makes the checksums of what begins like a block fit.
void repair(MutByteView area) {
  for (std::size_t at = 0; at + kLogHeaderSize <= area.size(); at += kBlock) {
    const MutByteView block = area.subspan(at);
    if (as_text(block.first(8)) != "HXLOGBLK") continue;
    copy_bytes(block.subspan(kLogHeaderSize - 4),
               as_bytes(le32(crc32c(block.first(kLogHeaderSize - 4)))));
    const Result<LogBlockHeader> header = decode_log_header(block);
    if (!header.ok() || header->length > block.size()) continue;
    const std::size_t end = kLogHeaderSize + header->body_length;
    const std::uint32_t crc =
        crc32c(block.subspan(kLogHeaderSize, header->body_length), log_block_crc_start(block));
    copy_bytes(block.subspan(end), as_bytes(le32(crc)));
    at += header->length - kBlock;
  }
}

class Log {
 public:
  Log() : copies_(kCopies, kBlocks) {
    for (AlignedBuffer& area : areas_) area = AlignedBuffer(kSize);
  }

  // The first byte says what the rest is.
  void fill(Decoder in) {
    trim_ = kLogOrigin;
    for (AlignedBuffer& area : areas_) fill_zero(area.bytes());
    const std::uint8_t mode = in.u8();
    raw_ = (mode & kRawMode) != 0;
    if (raw_) {
      const ByteView bytes =
          as_bytes(in.rest()).first(std::min<std::size_t>(in.remaining(), kSize));
      for (AlignedBuffer& area : areas_) copy_bytes(area.bytes(), bytes);
      repair(areas_[0].bytes());
    } else {
      std::vector<Described> blocks;
      const std::size_t trim = mode;  // so many blocks are trimmed, if there are as many
      while (in.remaining() > 0 && blocks.size() < kMostBlocks) {
        blocks.push_back(describe(in, blocks, copies_.uuid));
        place(blocks.back());
      }
      // A root does not name a block that no log has.
      const bool known = trim > 0 && trim <= blocks.size();
      if (known && decode_log_header(as_bytes(blocks[trim - 1].bytes)).ok()) {
        trim_ = blocks[trim - 1].point;
      }
    }
    for (std::size_t i = 0; i < kCopies; ++i) {
      const LogArea& area = copies_.areas[i];
      HEXAD_ASSERT(area.device->write(area.offset, areas_[i]).ok());
    }
  }

  LogScan scan() { return copies_.scan(trim_); }
  bool raw() const { return raw_; }
  Copies& copies() { return copies_; }

 private:
  void place(const Described& block) {
    const std::uint64_t at = block.point.position % kSize;
    const std::string_view bytes = std::string_view(block.bytes).substr(0, kSize - at);
    for (std::size_t i = 0; i < kCopies; ++i) {
      if ((block.copies >> i & 1) != 0) copy_bytes(areas_[i].bytes().subspan(at), as_bytes(bytes));
    }
  }

  Copies copies_;
  std::array<AlignedBuffer, kCopies> areas_;
  LogPoint trim_;
  bool raw_ = false;
};

// A chain leads from the trim point to its end, inside one lap, and every block of it can be read;
// only what no writer frames as records, behind a checksum that fits, is refused when it is.
void check_chain(const LogScan& scan, bool raw) {
  LogPoint at = scan.options.trim;
  for (std::size_t i = 0; i < scan.blocks.size(); ++i) {
    const LogBlockHeader& header = scan.blocks[i].header;
    HEXAD_ASSERT(header.previous_position == at.position && header.previous_crc == at.crc);
    HEXAD_ASSERT(header.position >= at.end && header.first_lsn == at.lsn + 1);
    at = scan.blocks[i].point();
    const Result<LoadedLogBlock> loaded = load_log_block(scan, i);
    HEXAD_ASSERT(raw || (loaded.ok() && loaded->block.header == header));
  }
  HEXAD_ASSERT(at == scan.end && at.end - scan.options.trim.end <= kSize);
  HEXAD_ASSERT(scan.fresh >= scan.end.end && scan.last_lsn() == at.lsn);
  HEXAD_ASSERT(!scan.damage.empty() || scan.last_lsn() >= scan.max_watermark);
}

// What opening does: all copies get the chain, and behind it come a fence and a record.
void go_on(Log& log, const LogScan& scan) {
  if (log.raw()) return;
  std::uint64_t failed = 0;
  HEXAD_ASSERT(run_log_rewrite(scan, plan_log_rewrite(scan), &failed).ok() && failed == 0);
  for (std::size_t i = 0; i < scan.blocks.size(); ++i) {
    LogScan copy = scan;
    for (std::size_t one = 0; one < kCopies; ++one) {
      copy.blocks[i].copies = std::uint64_t{1} << one;
      HEXAD_ASSERT(load_log_block(copy, i).ok());
    }
  }
  if (!scan.damage.empty()) return;
  LogWriterOptions options;
  options.trim = scan.options.trim;
  options.last = scan.end;
  options.tail = scan.fresh;
  options.epoch = scan.max_epoch;
  options.live = scan.points();
  LogWriter writer = log.copies().writer(std::move(options));
  Result<PreparedBlock> fence = writer.fence(scan.end, scan.max_epoch + 1);
  if (!fence.ok()) return;  // the log is full
  Result<PreparedBlock> record = put(writer, scan.last_lsn());
  if (!record.ok()) return;
  writer.check_invariants();
  log.copies().write(*fence);
  log.copies().write(*record);
  const LogScan after = log.scan();
  check_chain(after, false);
  HEXAD_ASSERT(after.damage.empty() && after.end == record->point());
}

}  // namespace

std::vector<std::string> hexad::testing::fuzz_seeds() {
  const auto text = [](std::initializer_list<int> bytes) {
    std::string result;
    for (const int byte : bytes) result.push_back(static_cast<char>(byte));
    return result;
  };
  // Three honest blocks; the same behind a trim point, with a fence among them; a branch that was
  // abandoned, and a block that is in one copy only.
  std::vector<std::string> seeds = {text({0, 0, 4, 0, 8, 0, 0x20}),
                                    text({1, 0, 4, 0, 8, 0, 2, 0, 0x44, 0, 1}),
                                    text({0, 0, 4, 0, 8, 0x80, 0x2c, 1, 0x80, 2, 1, 0x40, 4, 1})};
  std::string laps = text({20});
  for (int i = 0; i < 36; ++i) laps += text({0, 0xfc});
  seeds.push_back(laps);
  Copies copies(1, kBlocks);
  LogWriterOptions options;
  LogWriter writer = copies.writer(std::move(options));
  for (const std::uint64_t size : {10, 700, 3}) {
    PreparedBlock block = put(writer, writer.last().lsn, size).value();
    copies.write(block);
  }
  AlignedBuffer area(6 * kBlock);
  HEXAD_ASSERT(copies.areas[0].device->read(copies.areas[0].offset, area.bytes()).ok());
  seeds.push_back(text({kRawMode}) + std::string(as_text(area.bytes())));
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Log log;
  log.fill(Decoder(ByteView(reinterpret_cast<const std::byte*>(data), size)));
  LogScan scan = log.scan();
  check_chain(scan, log.raw());
  LogScan cut = scan;
  cut.cut(scan.blocks.size() / 2);
  check_chain(cut, log.raw());
  go_on(log, scan);
  return 0;
}
