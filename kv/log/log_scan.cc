#include "kv/log/log_scan.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/checksum.h"
#include "base/codec.h"
#include "base/units.h"
#include "io/device.h"
#include "io/refused.h"

namespace hexad::kv {
namespace {

Error corrupt(std::string what, std::string hint = "") {
  return Error{ErrorCode::kCorruption, "log: " + std::move(what), std::move(hint)};
}

bool overlaps(const std::vector<LogRange>& ranges, std::uint64_t offset, std::uint64_t length) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const LogRange& range) {
    return range.offset < offset + length && offset < range.offset + range.length;
  });
}

// Reads one copy in large pieces. What cannot be read is taken as zeros, so that one bad sector
// costs its block and not the copy.
class CopyReader {
 public:
  CopyReader(const LogArea& area, const LogScanOptions& options, LogCopyReport& report)
      : area_(area),
        block_size_(options.block_size),
        report_(report),
        buffer_(std::min(
            area.size, round_up(std::max<std::uint64_t>(options.piece, 1), options.block_size))) {}

  // The bytes from `offset` on within the area: at least one, at most `length`.
  ByteView at(std::uint64_t offset, std::uint64_t length) {
    if (offset < start_ || offset >= start_ + filled_) fill(round_down(offset, block_size_));
    const std::uint64_t skip = offset - start_;
    return ByteView(buffer_.bytes()).subspan(skip, std::min(length, filled_ - skip));
  }

  // True when the device fails so often that going on would only take time.
  bool hopeless() const { return failures_ >= kMaxFailures; }

  // From `offset` on nothing is read.
  void give_up(std::uint64_t offset) {
    report_.unreadable.push_back({offset, area_.size - offset});
  }
  bool is_unreadable(std::uint64_t offset, std::uint64_t length) const {
    return overlaps(report_.unreadable, offset, length);
  }

 private:
  static constexpr std::uint64_t kMaxFailures = 1024;
  static constexpr int kAskedAgain = 2;

  void fill(std::uint64_t start) {
    start_ = start;
    filled_ = std::min<std::uint64_t>(buffer_.size(), area_.size - start);
    read(0, filled_);
  }

  // Whole blocks, and every buffer on the boundary that direct I/O wants. All of it: there is no
  // half.
  std::uint64_t half_of(std::uint64_t length) const {
    if (length <= block_size_) return length;
    const std::uint64_t unit = std::lcm<std::uint64_t>(block_size_, AlignedBuffer::kAlignment);
    return std::min(length, round_up(length / 2, unit));
  }

  // Halves a failing range until single blocks are left, which are asked for again.
  void read(std::uint64_t skip, std::uint64_t length) {
    const MutByteView into = buffer_.bytes().subspan(skip, length);
    const std::uint64_t half = half_of(length);
    if (!hopeless()) {
      const auto attempt = [&] { return area_.device->read(area_.offset + start_ + skip, into); };
      Status status = attempt();
      if (status.ok()) return;
      ++failures_;
      if (report_.status.ok()) report_.status = status;
      if (half < length && !hopeless()) {
        read(skip, half);
        read(skip + half, length - half);
        return;
      }
      for (int i = 0; i < kAskedAgain && half == length; ++i) {
        if (attempt().ok()) return;
      }
    }
    report_.unreadable_bytes += length;
    report_.unreadable.push_back({start_ + skip, length});
    fill_zero(into);
  }

  const LogArea& area_;
  std::uint64_t block_size_;
  LogCopyReport& report_;
  AlignedBuffer buffer_;
  std::uint64_t start_ = 0;
  std::uint64_t filled_ = 0;
  std::uint64_t failures_ = 0;
};

enum class Place { kOther, kCurrent, kBeyond };

// Whether a block with this header can lie at `offset` of the area, and on which side of the lap.
Place judge(const LogBlockHeader& header, std::uint64_t offset, std::uint64_t size,
            const LogScanOptions& options) {
  if (header.uuid != options.uuid || header.position % size != offset) return Place::kOther;
  for (const LogWriterEpochs& writer : options.writers) {
    const bool its_own = header.epoch >= writer.first && header.epoch <= writer.last;
    if (its_own && header.nonce != 0 && header.nonce != writer.nonce) return Place::kOther;
  }
  const std::uint64_t needed = std::uint64_t{kLogHeaderSize} + header.body_length + kLogTrailerSize;
  if (header.length != round_up(needed, options.block_size)) return Place::kOther;
  if (header.length > size - offset) return Place::kOther;
  if (header.position < options.trim.end) return Place::kOther;  // an old lap, or trimmed
  return header.end() - options.trim.end > size ? Place::kBeyond : Place::kCurrent;
}

// Gathers the valid blocks of all copies.
class Collector {
 public:
  Collector(std::span<const LogArea> areas, const LogScanOptions& options, LogScan& scan)
      : areas_(areas), options_(options), scan_(scan) {}

  void read_copy(std::size_t index) {
    const LogArea& area = areas_[index];
    LogCopyReport& report = scan_.copies[index];
    CopyReader reader(area, options_, report);
    std::uint64_t offset = 0;
    torn_bytes_ = 0;
    while (offset < area.size) {
      if (reader.hopeless()) return reader.give_up(offset);  // report.status says why
      // The blocks of an honest log do not overlap, torn or not. Each header that lies about its
      // body costs the reading of that body, so there has to be an end to it.
      if (torn_bytes_ > 4 * area.size) {
        report.status = corrupt(area.to_string() + ": too many headers without their bodies");
        return;
      }
      const std::uint64_t taken = block_at(reader, area, offset, index, report);
      offset += taken == 0 ? options_.block_size : taken;
    }
  }

  std::vector<ScannedBlock>& blocks() { return blocks_; }
  bool beyond() const { return beyond_; }

 private:
  // The length of the valid block at `offset`, or 0. The inside of a valid block is skipped: there
  // lie a user's bytes, which may look like anything.
  std::uint64_t block_at(CopyReader& reader, const LogArea& area, std::uint64_t offset,
                         std::size_t index, LogCopyReport& report) {
    const ByteView head = reader.at(offset, kLogHeaderSize);
    Result<LogBlockHeader> decoded = decode_log_header(head);
    if (!decoded.ok()) return 0;
    const LogBlockHeader& header = *decoded;
    const Place place = judge(header, offset, area.size, options_);
    if (place == Place::kOther) return 0;
    const std::optional<std::uint32_t> crc = verified_crc(reader, offset, header, head);
    if (!crc.has_value()) {
      ++report.torn_blocks;
      if (reader.is_unreadable(offset, header.length)) report.unread_blocks.push_back(header);
      torn_bytes_ += header.length;
      return 0;
    }
    ++report.blocks;
    scan_.max_epoch = std::max(scan_.max_epoch, header.epoch);
    scan_.max_watermark = std::max(scan_.max_watermark, header.watermark);
    if (place == Place::kBeyond) {
      beyond_ = true;
    } else {
      scan_.fresh = std::max(scan_.fresh, header.end());
      merge(header, *crc, index);
    }
    return header.length;
  }

  static std::optional<std::uint32_t> verified_crc(CopyReader& reader, std::uint64_t offset,
                                                   const LogBlockHeader& header, ByteView head) {
    std::uint32_t crc = log_block_crc_start(head);
    std::uint64_t at = offset + kLogHeaderSize;
    for (std::uint64_t left = header.body_length; left > 0;) {
      const ByteView body = reader.at(at, left);
      crc = crc32c(body, crc);
      at += body.size();
      left -= body.size();
    }
    std::string trailer;  // may lie across two pieces
    while (trailer.size() < kLogTrailerSize) {
      trailer += as_text(reader.at(at + trailer.size(), kLogTrailerSize - trailer.size()));
    }
    if (Decoder(std::string_view(trailer)).le32() != crc) return std::nullopt;
    return crc;
  }

  // Two different blocks may lie at one position in different copies: one of an abandoned branch,
  // or left behind where a later write was lost. Both stay candidates.
  void merge(const LogBlockHeader& header, std::uint32_t crc, std::size_t index) {
    const auto [first, last] = by_place_.equal_range({header.position, crc});
    for (auto it = first; it != last; ++it) {
      if (blocks_[it->second].header == header) {
        blocks_[it->second].copies |= std::uint64_t{1} << index;
        return;
      }
    }
    by_place_.emplace(std::pair{header.position, crc}, blocks_.size());
    blocks_.push_back({header, crc, std::uint64_t{1} << index});
  }

  std::span<const LogArea> areas_;
  const LogScanOptions& options_;
  LogScan& scan_;
  std::vector<ScannedBlock> blocks_;
  std::multimap<std::pair<LogPosition, std::uint32_t>, std::size_t> by_place_;
  std::uint64_t torn_bytes_ = 0;  // in the current copy
  bool beyond_ = false;
};

bool follows(const LogBlockHeader& header, const LogPoint& before) {
  if (header.previous_position != before.position || header.previous_crc != before.crc ||
      header.position < before.end || header.first_lsn != before.lsn + 1) {
    return false;
  }
  if (before == kLogOrigin) return true;
  return header.kind == LogBlockKind::kFence ? header.epoch > before.epoch
                                             : header.epoch == before.epoch;
}

// The tree of blocks: children by predecessor, and for each block the highest epoch that its
// descendants reach.
class Tree {
 public:
  explicit Tree(std::vector<ScannedBlock>& blocks) : blocks_(blocks) {
    // By position, so that children come after their parents.
    std::sort(blocks_.begin(), blocks_.end(), [](const ScannedBlock& a, const ScannedBlock& b) {
      return std::pair(a.header.position, a.header.epoch) <
             std::pair(b.header.position, b.header.epoch);
    });
    best_.resize(blocks_.size());
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const LogBlockHeader& header = blocks_[i].header;
      children_.emplace(std::pair{header.previous_position, header.previous_crc}, i);
    }
    for (std::size_t i = blocks_.size(); i-- > 0;) {
      best_[i] = blocks_[i].header.epoch;
      for (const std::size_t child : children(blocks_[i].point())) {
        best_[i] = std::max(best_[i], best_[child]);
      }
    }
  }

  std::vector<std::size_t> children(const LogPoint& before) const {
    std::vector<std::size_t> found;
    const auto [first, last] = children_.equal_range({before.position, before.crc});
    for (auto it = first; it != last; ++it) {
      if (follows(blocks_[it->second].header, before)) found.push_back(it->second);
    }
    return found;
  }

  Epoch best(std::size_t index) const { return best_[index]; }

 private:
  std::vector<ScannedBlock>& blocks_;
  std::multimap<std::pair<LogPosition, std::uint32_t>, std::size_t> children_;
  std::vector<Epoch> best_;
};

void note_damage(LogScan& scan, std::string what) {
  if (scan.damage.empty()) scan.damage = "log damaged: " + std::move(what);
}

void judge_end(LogScan& scan) {
  if (scan.end.lsn < scan.max_watermark) {  // R7
    note_damage(scan, "LSN " + std::to_string(scan.end.lsn + 1) + " missing below the watermark " +
                          std::to_string(scan.max_watermark));
  }
}

void walk(LogScan& scan, std::vector<ScannedBlock>& found) {
  const Tree tree(found);
  std::vector<bool> taken(found.size());
  for (;;) {
    const std::vector<std::size_t> next = tree.children(scan.end);
    if (next.empty()) break;
    std::size_t chosen = next.front();
    for (const std::size_t other : next) {
      if (tree.best(other) > tree.best(chosen)) chosen = other;
    }
    for (const std::size_t other : next) {
      if (other != chosen && tree.best(other) == tree.best(chosen)) {
        note_damage(scan, "two blocks of epoch " + std::to_string(tree.best(chosen)) +
                              " follow position " + std::to_string(scan.end.position));
      }
    }
    taken[chosen] = true;
    scan.end = found[chosen].point();
    scan.blocks.push_back(found[chosen]);
  }
  judge_end(scan);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (taken[i]) continue;
    ++scan.abandoned;
    // A block of a newer epoch proves that its fence was durable, and all before the fence. In a
    // new store the first epoch needs no fence.
    const LogBlockHeader& header = found[i].header;
    const bool fenced = scan.end != kLogOrigin || header.kind == LogBlockKind::kFence;
    if (fenced && header.epoch > scan.end.epoch) {
      note_damage(
          scan, "the block at position " + std::to_string(header.position) + " of epoch " +
                    std::to_string(header.epoch) + " is cut off from the log, which ends at LSN " +
                    std::to_string(scan.end.lsn) + " in epoch " + std::to_string(scan.end.epoch));
    }
  }
}

// Where the next block may begin: behind the chain, or behind all that was found; each with the
// next lap, where a block did not fit in before.
std::vector<LogPosition> next_places(const LogScan& scan) {
  const std::uint64_t size = scan.areas.front().size;
  std::vector<LogPosition> places;
  for (const LogPosition place : {scan.end.end, scan.fresh}) {
    places.push_back(place);
    if (place % size + kMaxLogBlock > size) places.push_back(round_up(place, size));
  }
  std::erase_if(places, [&](LogPosition place) {  // no block may: LW1
    return place + scan.options.block_size - scan.options.trim.end > size;
  });
  return places;
}

// Whether a block may follow in the copy that its reading has not shown, and where.
std::optional<LogPosition> unread_next(const LogScan& scan, const LogCopyReport& copy) {
  const std::uint64_t size = scan.areas.front().size;
  for (const LogPosition place : next_places(scan)) {
    if (overlaps(copy.unreadable, place % size, scan.options.block_size)) return place;
  }
  for (const LogBlockHeader& header : copy.unread_blocks) {
    if (follows(header, scan.end)) return header.position;
  }
  return std::nullopt;
}

// R7.
void judge_unread(LogScan& scan) {
  std::string where;
  for (std::size_t i = 0; i < scan.areas.size(); ++i) {
    const LogArea& area = scan.areas[i];
    const std::optional<LogPosition> place = unread_next(scan, scan.copies[i]);
    if (!place.has_value()) return;
    const std::uint64_t offset = area.offset + *place % area.size;
    where += (where.empty() ? "" : "; ") + area.device->name() + ", a block at byte " +
             std::to_string(offset) + ": " + scan.copies[i].status.error().message;
  }
  scan.unread_end = "log: it is not known whether anything follows LSN " +
                    std::to_string(scan.end.lsn) + ", since no copy can be read there (" + where +
                    ")";
}

// The root says it: whatever follows it has to be a place in a log.
Status check_trim(const LogScanOptions& options) {
  const LogPoint& trim = options.trim;
  if (trim == kLogOrigin) return {};
  const bool a_block = trim.position < trim.end && trim.end - trim.position <= kMaxLogBlock &&
                       is_multiple(trim.position, options.block_size) &&
                       is_multiple(trim.end, options.block_size);
  if (a_block) return {};
  return corrupt("no block lies from " + std::to_string(trim.position) + " to " +
                     std::to_string(trim.end) + ", where the root says that the log begins",
                 "Attach devices that are missing and open the store again.");
}

}  // namespace

std::vector<LogPoint> LogScan::points() const {
  std::vector<LogPoint> points;
  points.reserve(blocks.size());
  for (const ScannedBlock& block : blocks) points.push_back(block.point());
  return points;
}

void LogScan::cut(std::size_t count) {
  if (count >= blocks.size()) return;
  abandoned += blocks.size() - count;
  blocks.resize(count);
  end = blocks.empty() ? options.trim : blocks.back().point();
  judge_end(*this);
}

Result<LogScan> scan_log(std::span<const LogArea> areas, const LogScanOptions& options) {
  if (areas.empty() || areas.size() > 64) {
    return Error{ErrorCode::kInvalidArgument,
                 "log: " + std::to_string(areas.size()) + " copies to scan; 1 to 64 are possible",
                 ""};
  }
  for (const LogArea& area : areas) {
    HEXAD_TRY(check_log_area(area, options.block_size));
    if (area.size != areas.front().size || area.size == 0) {
      return Error{ErrorCode::kInvalidArgument,
                   "log: copies of different size: " + area.to_string() + " beside " +
                       areas.front().to_string(),
                   ""};
    }
  }
  HEXAD_TRY(check_trim(options));
  LogScan scan;
  scan.options = options;
  scan.areas.assign(areas.begin(), areas.end());
  scan.copies.resize(areas.size());
  scan.end = options.trim;
  scan.fresh = options.trim.end;
  scan.max_epoch = options.trim.epoch;
  scan.max_watermark = options.recorded_watermark;

  Collector collector(areas, options, scan);
  std::size_t unreadable = 0;
  for (std::size_t i = 0; i < areas.size(); ++i) {
    collector.read_copy(i);
    if (!scan.copies[i].status.ok() && scan.copies[i].blocks == 0) ++unreadable;
  }
  if (unreadable == areas.size()) {
    return scan.copies.front().status.error().with_context("no copy of the log can be read");
  }
  if (collector.beyond()) {
    note_damage(scan, "blocks lie more than a lap after the trim point " +
                          std::to_string(options.trim.end) +
                          ": the root that was found is older than the log");
  }
  walk(scan, collector.blocks());
  judge_unread(scan);
  return scan;
}

Status check_log_end(const LogScan& scan) {
  if (scan.unread_end.empty()) return {};
  return Error{ErrorCode::kUnavailable, scan.unread_end, kUnreadableEndHint};
}

Status check_log_scan(const LogScan& scan) {
  if (scan.damage.empty()) return {};
  return Error{ErrorCode::kCorruption, scan.damage,
               "bring back the missing log devices, or open read-only to save what is there"};
}

Result<LoadedLogBlock> load_log_block(const LogScan& scan, std::size_t index) {
  const ScannedBlock& wanted = scan.blocks[index];
  Status failure = corrupt("the block at position " + std::to_string(wanted.header.position) +
                           " is good in no copy any more");
  for (std::size_t i = 0; i < scan.areas.size(); ++i) {
    if ((wanted.copies >> i & 1) == 0) continue;
    const LogArea& area = scan.areas[i];
    LoadedLogBlock loaded;
    loaded.bytes = AlignedBuffer(wanted.header.length);
    if (Status status = area.device->read(area.offset + wanted.header.position % area.size,
                                          loaded.bytes.bytes());
        !status.ok()) {
      failure = status;
      continue;
    }
    Result<LogBlock> block = decode_log_block(loaded.bytes);
    if (!block.ok()) {
      failure = block.status();
      continue;
    }
    if (block->crc != wanted.crc || block->header != wanted.header) continue;
    loaded.block = std::move(*block);
    return loaded;
  }
  return failure.error();
}

std::vector<LogRewriteStep> plan_log_rewrite(const LogScan& scan) {
  const std::uint64_t all =
      scan.areas.size() == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << scan.areas.size()) - 1;
  std::vector<LogRewriteStep> steps;
  for (std::size_t i = 0; i < scan.blocks.size(); ++i) {
    // Above the watermark nobody has said that the block ever reached the medium: it may have been
    // read from a cache whose write-back failed. So it is written again even where it was found.
    const bool proven = scan.blocks[i].header.last_lsn() <= scan.max_watermark;
    const std::uint64_t missing = proven ? all & ~scan.blocks[i].copies : all;
    if (missing != 0) steps.push_back({i, missing});
  }
  return steps;
}

Status run_log_rewrite(const LogScan& scan, std::span<const LogRewriteStep> steps,
                       std::uint64_t* failed, std::uint64_t to) {
  *failed = 0;
  for (const LogRewriteStep& step : steps) {
    if ((step.copies & to) == 0) continue;
    HEXAD_TRY_ASSIGN(const LoadedLogBlock loaded, load_log_block(scan, step.block));
    const LogPosition position = loaded.block.header.position;
    io::IoBatch batch;
    std::vector<std::size_t> targets;
    for (std::size_t i = 0; i < scan.areas.size(); ++i) {
      if (((step.copies & to & ~*failed) >> i & 1) == 0) continue;
      const LogArea& area = scan.areas[i];
      batch.requests.push_back(
          io::IoRequest::write(*area.device, area.offset + position % area.size, loaded.bytes,
                               io::WriteMode::kCached, io::IoCause::kHeal));
      targets.push_back(i);
    }
    if (targets.empty()) continue;
    io::IoQueue& queue = batch.requests.front().device->queue();
    queue.run(batch);
    for (std::size_t t = 0; t < targets.size(); ++t) {
      if (io::is_refused(batch.requests[t])) return batch.requests[t].status;
      if (!batch.requests[t].status.ok()) *failed |= std::uint64_t{1} << targets[t];
    }
  }
  // All of them: a block that was found may still lie in a volatile cache.
  for (std::size_t i = 0; i < scan.areas.size(); ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    if ((to & ~*failed & bit) != 0 && !scan.areas[i].device->flush().ok()) *failed |= bit;
  }
  return {};
}

Status copy_log(const LogScan& scan, std::size_t first_block, const LogArea& target) {
  if (target.size != scan.areas.front().size) {
    return Error{ErrorCode::kInvalidArgument,
                 "log: cannot copy to " + target.to_string() + ": the other copies have " +
                     format_size(scan.areas.front().size),
                 ""};
  }
  HEXAD_TRY(check_log_area(target, scan.options.block_size));
  for (std::size_t i = first_block; i < scan.blocks.size(); ++i) {
    HEXAD_TRY_ASSIGN(const LoadedLogBlock loaded, load_log_block(scan, i));
    HEXAD_TRY(target.device->write(target.offset + loaded.block.header.position % target.size,
                                   loaded.bytes, io::WriteMode::kCached, io::IoCause::kHeal));
  }
  return target.device->flush();
}

}  // namespace hexad::kv
