#include "kv/log/log_writer.h"

#include <algorithm>
#include <utility>

#include "base/units.h"

namespace hexad::kv {
namespace {

constexpr std::uint64_t kMaxKnown = 4096;  // blocks remembered for point_at(), 48 B each

Error invalid(std::string what) {
  return Error{ErrorCode::kInvalidArgument, "log: " + std::move(what), ""};
}

Status check_areas(const std::vector<LogArea>& areas, std::uint32_t block_size,
                   std::uint64_t size) {
  if (areas.empty()) return invalid("no area to write to");
  for (const LogArea& area : areas) {
    HEXAD_TRY(check_log_area(area, block_size));
    if (area.size != size) {
      return invalid("copies of different size: " + area.to_string() + " beside " +
                     format_size(size));
    }
  }
  return {};
}

}  // namespace

Result<LogWriter> LogWriter::create(LogWriterOptions options) {
  if (options.areas.empty()) return invalid("no area to write to");
  const std::uint64_t size = options.areas.front().size;
  HEXAD_TRY(check_areas(options.areas, options.block_size, size));
  if (size < 64 * std::uint64_t{options.block_size}) {
    return invalid("an area of " + format_size(size) + " is too small; at least 64 blocks of " +
                   std::to_string(options.block_size) + " B are needed");
  }
  if (!is_multiple(options.tail, options.block_size) || options.tail < options.last.end ||
      options.last.end < options.trim.end || options.tail - options.trim.end > size) {
    return invalid("trim point " + std::to_string(options.trim.end) + ", last block " +
                   std::to_string(options.last.end) + " and tail " + std::to_string(options.tail) +
                   " do not fit into a ring of " + format_size(size));
  }
  return LogWriter(std::move(options));
}

LogWriter::LogWriter(LogWriterOptions options)
    : options_(std::move(options)),
      size_(options_.areas.front().size),
      // A sixteenth: hundreds of fences and watermarks between two checkpoints.
      reserve_(std::max<std::uint64_t>(8 * std::uint64_t{options_.block_size},
                                       round_down(size_ / 16, options_.block_size))),
      trim_(options_.trim),
      last_(options_.last),
      tail_(options_.tail),
      durable_end_(options_.last.end) {
  for (const LogPoint& point : options_.live) {
    if (point.end > trim_.end && point.end <= last_.end) remember({point, false});
  }
  options_.live.clear();
}

std::uint64_t LogWriter::max_block_size() const {
  // Before a block that does not fit before the end of the lap, less than its length is skipped;
  // so twice the length fits wherever the tail stands.
  return std::min(kMaxLogBlock, round_down((size_ - reserve_) / 2, options_.block_size));
}

Result<PreparedBlock> LogWriter::prepare(Lsn first_lsn, LogBody records, Lsn watermark,
                                         LogPurpose purpose) {
  HEXAD_ASSERT(first_lsn == next_lsn());
  HEXAD_ASSERT(records.record_count > 0);
  LogBlockHeader header;
  header.kind = LogBlockKind::kRecords;
  header.watermark = watermark;
  return place(header, std::move(records), purpose);
}

Result<PreparedBlock> LogWriter::prepare(Lsn first_lsn, std::span<const std::string_view> records,
                                         Lsn watermark, LogPurpose purpose) {
  HEXAD_TRY(check_length(length_of(records)));
  GatheredRecords gathered;
  for (const std::string_view record : records) {
    gathered.begin_record();
    gathered.add_part(record);
  }
  LogBuffers none(0);
  return prepare(first_lsn, encode_log_body(gathered, options_.block_size, none), watermark,
                 purpose);
}

LogBody LogWriter::no_records() const {
  LogBuffers none(0);
  return encode_log_body({}, options_.block_size, none);
}

Result<PreparedBlock> LogWriter::empty_block(Lsn watermark) {
  LogBlockHeader header;
  header.kind = LogBlockKind::kEmpty;
  header.watermark = watermark;
  return place(header, no_records(), LogPurpose::kInternal);
}

Result<PreparedBlock> LogWriter::fence(const LogPoint& last_good, Epoch new_epoch) {
  HEXAD_ASSERT(new_epoch > options_.epoch);
  // The trim point is durable and named by a root; nothing before it can be the last good block.
  HEXAD_ASSERT(last_good.end >= trim_.end && last_good.end <= tail_);
  LogBlockHeader header;
  header.kind = LogBlockKind::kFence;
  header.watermark = last_good.lsn;
  header.fence_end_lsn = last_good.lsn;
  const LogPoint last_before = std::exchange(last_, last_good);
  const Epoch epoch_before = std::exchange(options_.epoch, new_epoch);
  Result<PreparedBlock> prepared = place(header, no_records(), LogPurpose::kInternal);
  if (!prepared.ok()) {
    last_ = last_before;
    options_.epoch = epoch_before;
    return prepared;
  }
  // place() has remembered the fence behind blocks that are now void.
  known_.pop_back();
  while (!known_.empty() && known_.back().point.end > last_good.end) known_.pop_back();
  remember({last_, false});
  durable_end_ = std::min(durable_end_, last_good.end);
  return prepared;
}

Status LogWriter::check_length(std::uint64_t length) const {
  if (length <= max_block_size()) return {};
  return Error{ErrorCode::kTooBig,
               "log: a block of " + format_size(length) + " is over the limit of " +
                   format_size(max_block_size()),
               "use smaller transactions"};
}

Result<PreparedBlock> LogWriter::place(LogBlockHeader header, LogBody body, LogPurpose purpose) {
  const std::uint64_t length = body.buffer.bytes.size();
  HEXAD_TRY(check_length(length));
  LogPosition position = tail_;
  if (position % size_ + length > size_) position = round_up(position, size_);
  const std::uint64_t free = size_ - (purpose == LogPurpose::kUser ? reserve_ : 0);
  if (position + length - trim_.end > free) {  // LW1, LW3
    return Error{ErrorCode::kNoSpace,
                 "log: no room for " + format_size(length) + ", " + format_size(used()) + " of " +
                     format_size(size_) + " in use",
                 "a checkpoint makes room"};
  }
  header.uuid = options_.uuid;
  header.epoch = options_.epoch;
  header.nonce = options_.nonce;
  header.position = position;
  header.first_lsn = next_lsn();
  header.previous_position = last_.position;
  header.previous_crc = last_.crc;
  PreparedBlock prepared;
  prepared.block = encode_log_block(header, std::move(body));
  prepared.requests.reserve(options_.areas.size());
  for (const LogArea& area : options_.areas) {
    prepared.requests.push_back(io::IoRequest::write(*area.device, area.offset + position % size_,
                                                     prepared.block.bytes, io::WriteMode::kCached,
                                                     io::IoCause::kLog));
  }
  last_ = prepared.point();  // LW2
  tail_ = last_.end;
  remember({last_, prepared.block.header.record_count > 0});
  return prepared;
}

void LogWriter::remember(const KnownBlock& block) {
  // Two remembered blocks are a stride apart, but for the newest: trimming is that coarse, and the
  // list that short.
  const std::uint64_t stride = size_ / kMaxKnown;
  const std::size_t count = known_.size();
  if (count >= 2 && block.point.end - known_[count - 2].point.end < stride) known_.pop_back();
  known_.push_back(block);
}

void LogWriter::trim(const LogPoint& point) {
  if (point.end <= trim_.end) return;
  HEXAD_ASSERT(point.end <= tail_);
  trim_ = point;
  while (!known_.empty() && known_.front().point.end <= trim_.end) known_.pop_front();
}

void LogWriter::durable(const LogPoint& point) {
  HEXAD_ASSERT(point.end <= tail_);
  durable_end_ = std::max(durable_end_, point.end);
}

LogPoint LogWriter::point_at(Lsn lsn) const {
  // LSNs never fall along known_, so everything before `above` is at or below `lsn`.
  const auto above =
      std::partition_point(known_.begin(), known_.end(),
                           [lsn](const KnownBlock& block) { return block.point.lsn <= lsn; });
  for (auto it = above; it != known_.begin();) {
    --it;
    if (it->has_records || it->point.end <= durable_end_) return it->point;
  }
  return trim_;
}

Status LogWriter::set_areas(std::vector<LogArea> areas) {
  HEXAD_TRY(check_areas(areas, options_.block_size, size_));
  options_.areas = std::move(areas);
  return {};
}

void LogWriter::check_invariants() const {
  HEXAD_ASSERT(trim_.end <= tail_ && used() <= size_);  // LW1
  HEXAD_ASSERT(last_.end <= tail_);
  const LogPoint* before = &trim_;
  for (const KnownBlock& block : known_) {
    const LogPoint& point = block.point;
    HEXAD_ASSERT(point.position >= before->end && point.lsn >= before->lsn);  // LW2
    HEXAD_ASSERT(point.epoch >= before->epoch && point.end <= tail_);
    before = &point;
  }
}

}  // namespace hexad::kv
