// Log copies in memory, and short ways to fill them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/device.h"
#include "io/memory_device.h"
#include "kv/log/log_area.h"
#include "kv/log/log_scan.h"
#include "kv/log/log_writer.h"

namespace hexad::kv::testing {

inline constexpr std::uint32_t kBlock = 512;

class Copies {
 public:
  Copies(std::size_t count, std::uint64_t blocks) : queue_(io::make_memory_queue()) {
    for (std::size_t i = 0; i < count; ++i) {
      auto device = io::make_memory_device("log" + std::to_string(i), (blocks + 4) * kBlock,
                                           *queue_, {kBlock, kBlock});
      HEXAD_ASSERT(device.ok());
      devices_.push_back(std::move(*device));
      areas.push_back({devices_.back().get(), 2 * kBlock, blocks * kBlock});
    }
  }

  LogWriter writer(LogWriterOptions options = {}) const {
    options.uuid = uuid;
    options.block_size = kBlock;
    options.areas = areas;
    Result<LogWriter> writer = LogWriter::create(std::move(options));
    HEXAD_ASSERT(writer.ok());
    return std::move(*writer);
  }
  // Writes the block to the copies in `mask`.
  void write(PreparedBlock& block, std::uint64_t mask = ~0ull) {
    for (std::size_t i = 0; i < block.requests.size(); ++i) {
      if ((mask >> i & 1) == 0) continue;
      const io::IoRequest& request = block.requests[i];
      HEXAD_ASSERT(request.device->write(request.offset, {request.data, request.length}).ok());
    }
  }
  // Only the first `length` bytes arrive, in every copy.
  void tear(PreparedBlock& block, std::uint64_t length) {
    if (length == 0) return;
    for (const io::IoRequest& request : block.requests) {
      HEXAD_ASSERT(request.device->write(request.offset, {request.data, length}).ok());
    }
  }
  void flip(std::size_t copy, LogPosition position, std::uint64_t byte) {
    const std::uint64_t at = areas[copy].offset + (position + byte) % areas[copy].size;
    AlignedBuffer sector(kBlock);
    const std::uint64_t start = at / kBlock * kBlock;
    HEXAD_ASSERT(areas[copy].device->read(start, sector.bytes()).ok());
    sector.data()[at - start] ^= std::byte{0x10};
    HEXAD_ASSERT(areas[copy].device->write(start, sector).ok());
  }
  LogScan scan(const LogPoint& trim = kLogOrigin, Lsn recorded = 0) const {
    LogScanOptions options;
    options.uuid = uuid;
    options.block_size = kBlock;
    options.trim = trim;
    options.recorded_watermark = recorded;
    options.piece = 4 * kBlock;  // so that blocks lie across pieces
    Result<LogScan> scan = scan_log(areas, options);
    HEXAD_ASSERT(scan.ok());
    return std::move(*scan);
  }

  Uuid uuid{{1, 2, 3}};

 private:
  std::unique_ptr<io::IoQueue> queue_;
  std::vector<std::unique_ptr<io::Device>> devices_;

 public:
  std::vector<LogArea> areas;
};

// Prepares one block with one record of `size` bytes.
inline Result<PreparedBlock> put(LogWriter& writer, Lsn watermark, std::uint64_t size = 10) {
  const std::string record(size, static_cast<char>('a' + writer.next_lsn() % 26));
  const std::string_view views[] = {record};
  return writer.prepare(writer.next_lsn(), views, watermark);
}

}  // namespace hexad::kv::testing
