// Reads of many ranges at once, and what ranges are made of.
#include <algorithm>

#include "base/refused_memory.h"
#include "base/units.h"
#include "core/metadata/page_cursor.h"
#include "core/read/store_reader.h"
#include "core/record/keys.h"

namespace hexad::core {

namespace {

// Ranges that are so near to each other are read as one. Also at least a checksum block, so that no
// block is read for two of them.
constexpr std::uint64_t kJoinedGap = 16 << 10;
// No longer ones are made by that.
constexpr std::uint64_t kLongestSpan = 1 << 20;
// Bytes that are asked of the devices together.
constexpr std::uint64_t kSpansAtOnce = 8 << 20;
constexpr std::uint64_t kSummedAtOnce = 4 << 20;

std::uint64_t bytes_there(std::uint64_t size, std::uint64_t offset, std::uint64_t length) {
  return offset >= size ? 0 : std::min(length, size - offset);
}

Error about(const Error& error, std::string_view collection, std::string_view name) {
  return error.with_context("object " + printable(collection) + "/" + printable(name));
}

// A piece of the object that covers several wanted ranges.
struct Span {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::size_t first = 0;  // of the ranges
  std::size_t count = 0;
  Bytes buffer;  // empty: a single range, read where it is wanted

  std::uint64_t length() const { return end - begin; }
};

void add_extents(const ExtentList& extents, std::uint64_t begin, std::uint64_t end,
                 std::vector<ByteRange>& found) {
  for (const Extent& extent : extents) {
    const std::uint64_t from = std::max(begin, extent.offset);
    const std::uint64_t to = std::min(end, extent.end());
    if (from >= to) continue;
    if (!found.empty() && found.back().offset + found.back().length == from) {
      found.back().length += to - from;
    } else {
      found.push_back({from, to - from});
    }
  }
}

}  // namespace

// Inside the object, not empty.
struct StoreReader::WantedRange {
  std::uint64_t offset = 0;
  MutByteView out;

  std::uint64_t end() const { return offset + out.size(); }
};

// Some ranges in the order of their offsets: one round of reads where they are not too long.
Status StoreReader::read_spans(RangeReader& reader, std::span<WantedRange> wanted) {
  const std::uint64_t gap = std::max<std::uint64_t>(kJoinedGap, shape_.record.checksum_block);
  std::vector<Span> spans;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const WantedRange& range = wanted[i];
    if (!spans.empty()) {
      Span& last = spans.back();
      const std::uint64_t end = std::max(last.end, range.end());
      if (range.offset <= last.end + gap && end - last.begin <= kLongestSpan) {
        last.end = end;
        ++last.count;
        continue;
      }
    }
    spans.push_back({range.offset, range.end(), i, 1, {}});
  }
  ReadGather gather(blobs_, cache_, ReadCache::admit(reader.bytes));
  for (Span& span : spans) {
    if (span.count > 1) span.buffer.resize(span.length());
    const MutByteView out = span.count > 1 ? MutByteView(span.buffer) : wanted[span.first].out;
    HEXAD_TRY(gather_range(reader, gather, span.begin, out));
  }
  HEXAD_TRY(gather.finish());
  for (const Span& span : spans) {
    if (span.count == 1) continue;
    for (const WantedRange& range : wanted.subspan(span.first, span.count)) {
      copy_bytes(range.out,
                 ByteView(span.buffer).subspan(range.offset - span.begin, range.out.size()));
    }
  }
  return {};
}

// How many of the first ranges, which stand by offset, go together.
std::size_t StoreReader::first_round(std::span<const WantedRange> wanted) const {
  const std::uint64_t block = shape_.record.checksum_block;
  std::uint64_t bytes = 0;
  std::uint64_t covered = 0;
  std::size_t count = 0;
  while (count < wanted.size() && bytes < kSpansAtOnce) {
    const WantedRange& next = wanted[count++];
    const std::uint64_t end = next.end();
    if (count > 1 && next.offset <= covered + std::max(kJoinedGap, block)) {
      if (end > covered) bytes += end - covered;
    } else {
      bytes += std::max<std::uint64_t>(next.out.size(), block);
    }
    covered = std::max(covered, end);
  }
  return count;
}

Status StoreReader::read_wanted(MetaView& view, const CachedRecord& record,
                                std::vector<WantedRange>& wanted) {
  std::uint64_t total = 0;
  for (const WantedRange& range : wanted) total += range.out.size();
  const io::Nanos began = executor_.clock().now();
  std::sort(wanted.begin(), wanted.end(),
            [](const WantedRange& a, const WantedRange& b) { return a.offset < b.offset; });
  if (record.is_small() && !record.dropped()) {
    HEXAD_TRY_ASSIGN(Bytes whole, make_bytes(record.object.size, "its content"));
    if (read_small(record, 0, whole).ok()) {
      for (const WantedRange& range : wanted) {
        copy_bytes(range.out, ByteView(whole).subspan(range.offset, range.out.size()));
      }
      note_read(began, total);
      return {};
    }
  }
  RangeReader reader{view, record, cache_.enabled() && total <= cache_.largest_read(), total};
  for (std::span<WantedRange> left = wanted; !left.empty();) {
    const std::span<WantedRange> some = left.first(first_round(left));
    left = left.subspan(some.size());
    Status status = read_spans(reader, some);
    if (status.ok()) continue;
    if (some.size() == 1 && !reader.keep) return status;
    // What was read beside them may be what is lost.
    reader.keep = false;
    for (const WantedRange& range : some) {
      ReadGather gather(blobs_, cache_);
      HEXAD_TRY(gather_range(reader, gather, range.offset, range.out));
      HEXAD_TRY(gather.finish());
    }
  }
  note_read(began, total);
  return {};
}

Status StoreReader::read_ranges(std::string_view collection, std::string_view name,
                                std::span<RangeInto> ranges) {
  HEXAD_TRY_ASSIGN(ReadState state, read_state());
  HEXAD_TRY_ASSIGN(const std::shared_ptr<const CachedRecord> record,
                   find_cached(*state.view, collection, name));
  std::vector<WantedRange> wanted;
  wanted.reserve(ranges.size());
  for (RangeInto& range : ranges) {
    range.read = bytes_there(record->object.size, range.offset, range.into.size());
    if (range.read > 0) wanted.push_back({range.offset, range.into.first(range.read)});
  }
  const Status status = read_wanted(*state.view, *record, wanted);
  if (!status.ok()) return about(status.error(), collection, name);
  return {};
}

Result<Bytes> StoreReader::read_ranges(std::string_view collection, std::string_view name,
                                       std::span<const ByteRange> ranges) {
  // How long they are together depends on the object's size, so that is of the same state.
  HEXAD_TRY_ASSIGN(ReadState state, read_state());
  HEXAD_TRY_ASSIGN(const std::shared_ptr<const CachedRecord> record,
                   find_cached(*state.view, collection, name));
  std::uint64_t total = 0;
  for (const ByteRange& range : ranges) {
    total += bytes_there(record->object.size, range.offset, range.length);
    if (total > kMaxGetSize) {
      return Error{ErrorCode::kTooBig,
                   "object " + printable(collection) + "/" + printable(name) +
                       ": the ranges have more than " + format_size(kMaxGetSize) + " together",
                   "Read them in several calls, or into memory of your own."};
    }
  }
  Result<Bytes> made = make_bytes(total, "the ranges");
  if (!made.ok()) return about(made.error(), collection, name);
  Bytes bytes = std::move(made).value();
  std::vector<WantedRange> wanted;
  wanted.reserve(ranges.size());
  for (MutByteView left = bytes; const ByteRange& range : ranges) {
    const std::uint64_t length = bytes_there(record->object.size, range.offset, range.length);
    if (length > 0) wanted.push_back({range.offset, left.first(length)});
    left = left.subspan(length);
  }
  const Status status = read_wanted(*state.view, *record, wanted);
  if (!status.ok()) return about(status.error(), collection, name);
  return bytes;
}

Result<std::vector<ByteRange>> StoreReader::extents(std::string_view collection,
                                                    std::string_view name, const ByteRange& range) {
  HEXAD_TRY_ASSIGN(ReadState state, read_state());
  HEXAD_TRY_ASSIGN(const std::shared_ptr<const CachedRecord> record,
                   find_cached(*state.view, collection, name));
  const ObjectRecord& object = record->object;
  const std::uint64_t begin = range.offset;
  const std::uint64_t length = bytes_there(object.size, begin, range.length);
  std::vector<ByteRange> found;
  if (length == 0) return found;
  const std::uint64_t end = begin + length;
  const PageRange wanted{static_cast<std::uint32_t>(begin / kPageSpan),
                         static_cast<std::uint32_t>(divide_up(end, kPageSpan))};
  const auto add = [&](const ExtentList& extents) { add_extents(extents, begin, end, found); };
  HEXAD_TRY(visit_extents(*state.view, object, wanted, shape_.record, add));
  return found;
}

Result<RangeChecksum> StoreReader::checksum(std::string_view collection, std::string_view name,
                                            const ByteRange& range, ChecksumType type) {
  HEXAD_TRY_ASSIGN(ReadState state, read_state());
  HEXAD_TRY_ASSIGN(const std::shared_ptr<const CachedRecord> record,
                   find_cached(*state.view, collection, name));
  const io::Nanos began = executor_.clock().now();
  RangeChecksum result;
  result.length = bytes_there(record->object.size, range.offset, range.length);
  result.version = record->object.version;
  RunningChecksum sum(type);
  Bytes buffer(std::min(result.length, kSummedAtOnce));
  for (std::uint64_t done = 0; done < result.length;) {
    const MutByteView out =
        MutByteView(buffer).first(std::min(result.length - done, kSummedAtOnce));
    const Status status = read_through_cache(*state.view, *record, range.offset + done, out);
    if (!status.ok()) return about(status.error(), collection, name);
    sum.add(out);
    done += out.size();
  }
  result.value = sum.value();
  counters_.add(CounterId::kReads);
  counters_.add_latency(CounterId::kReadLatCount, 1, executor_.clock().now() - began);
  counters_.add(CounterId::kBytesRead, result.length);
  return result;
}

}  // namespace hexad::core
