#include "core/record/extent_codec.h"

#include <algorithm>

#include "alloc/device_layout.h"
#include "base/short_list.h"
#include "base/units.h"
#include "core/record/blob_numbers.h"
#include "core/record/sum_codec.h"

namespace hexad::core {
namespace {

// How an extent gets its bytes; the low two bits of its first byte. Values are on disk.
enum class Source : std::uint8_t { kForwarded = 0, kInline = 1, kNewBlob = 2, kEarlierBlob = 3 };

constexpr std::uint8_t kSourceMask = 0x03;
constexpr std::uint8_t kAfterGap = 0x04;      // does not begin where the previous extent ended
constexpr std::uint8_t kPart = 0x08;          // shows a part of its blob, not all of it
constexpr std::uint8_t kIsPacked = 0x10;      // the blob is packed
constexpr std::uint8_t kIsCompressed = 0x20;  // the blob has frames
constexpr std::uint8_t kIsUnplaced = 0x40;    // the blob is in the log
constexpr std::uint8_t kIsShared = 0x80;      // the blob has a share id

constexpr std::uint32_t kSector = 512;  // unit of cell_bytes

constexpr std::uint64_t kMax32 = 0xffffffff;

constexpr const char* kTooMuchInline = "the page has more inline bytes than allowed";

std::uint64_t block_sum_count(const Blob& blob, const RecordShape& shape) {
  return blob.placement == Placement::kPrivate ? shape.private_block_sums(blob.cell_bytes)
                                               : shape.packed_block_sums(blob.stored);
}

std::uint64_t cell_sum_count(const Blob& blob, const RecordShape& shape) {
  return blob.placement == Placement::kPrivate ? shape.cells() : 1;
}

bool sums_fit(const SumList& sums, ChecksumType type) {
  if (checksum_size(type) == 8) return true;
  for (const std::uint64_t sum : sums) {
    if (sum >> 32 != 0) return false;
  }
  return true;
}

// EB6
bool forward_fits(const Blob& blob) {
  switch (blob.forward) {
    case Forward::kNone:
      return true;
    case Forward::kDue:
      return blob.placement == Placement::kLog;
    case Forward::kWritten:
      return blob.placement == Placement::kPacked;
  }
  return false;
}

// EB1 to EB6; nullptr, or what is wrong.
const char* blob_problem(const Blob& blob, const RecordShape& shape) {
  if (blob.stored == 0 || blob.stored > blob.raw || blob.raw > kPageSpan) {
    return "its blob's sizes are out of range";  // EB2
  }
  if (blob.placement == Placement::kPrivate) {
    if (blob.where.unit == 0 || blob.where.units == 0 ||
        blob.where.end() > std::uint64_t{1} << 32) {
      return "its stripe is empty, starts with the slab header or ends beyond 2^32 units";  // EB1
    }
    if (blob.cell_bytes == 0 || blob.cell_bytes % kSector != 0 || blob.cell_bytes > kMaxCellBytes) {
      return "its cells have no legal size";  // EB3
    }
    const std::uint64_t needed = divide_up(blob.stored, shape.k);
    if (blob.cell != 0 || blob.cell_offset != 0) return "a private blob starts inside a cell";
    if (blob.cell_bytes < needed || blob.cell_bytes >= needed + alloc::kMaxPhysicalBlock) {
      return "its cells do not fit its stored bytes";  // EB3
    }
  } else if (blob.placement == Placement::kPacked) {
    if (blob.where.unit == 0 || blob.where.units != 0 || blob.cell_bytes != 0) {
      return "its packed blob names no stripe, or says how long that is";  // EB1
    }
    if (blob.cell >= shape.k || blob.cell_offset % kPackAlignment != 0 ||
        blob.cell_offset > kMaxCellBytes || blob.stored > kMaxCellBytes - blob.cell_offset) {
      return "its packed blob lies outside its cell";  // EB3
    }
  } else if (blob.placement == Placement::kLog) {
    if (blob.log.lsn == 0 || blob.where != alloc::Extent{} || blob.cell_bytes != 0 ||
        blob.cell != 0 || blob.cell_offset != 0) {
      return "its unplaced blob names no transaction, or a stripe";  // EB1
    }
  } else {
    return "its blob's placement is unknown";
  }
  if (blob.placement != Placement::kLog && blob.log != LogPlace{}) {
    return "its blob is in a stripe and in the log";  // EB1
  }
  if (!forward_fits(blob)) return "its blob is forwarded, and has no place that can be";  // EB6
  if (blob.is_compressed()) {
    if (blob.frames.raw_length != blob.raw || blob.frames.stored_bytes != blob.stored) {
      return "its frames do not add up to its blob";  // EB4
    }
  } else if (blob.stored != blob.raw || blob.frames.frame_bytes != 0 ||
             blob.frames.raw_length != 0 || blob.frames.stored_bytes != 0 ||
             !blob.frames.stored_lengths.empty()) {
    return "its blob is stored raw, and yet shorter or with frames";  // EB4
  }
  if (blob.cell_sums.size() != cell_sum_count(blob, shape) ||
      blob.block_sums.size() != block_sum_count(blob, shape) ||
      !sums_fit(blob.cell_sums, shape.checksum) || !sums_fit(blob.block_sums, shape.checksum)) {
    return "its checksums are not as many or as wide as the store's";  // EB5
  }
  return nullptr;
}

void encode_blob(Encoder& out, const Blob& blob, const RecordShape& shape) {
  if (blob.placement == Placement::kPrivate) {
    alloc::encode_extent(out, blob.where);
    out.varint(blob.cell_bytes / kSector);
  } else if (blob.placement == Placement::kPacked) {
    out.varint(blob.where.zone);
    out.varint(blob.where.unit);
    out.varint(blob.cell);
    out.varint(blob.cell_offset / kPackAlignment);
  } else {
    out.varint(blob.log.lsn);
    out.varint(blob.log.index);
  }
  out.varint(blob.raw);
  if (blob.is_compressed()) compression::encode_frame_set(out, blob.frames);
  encode_sums(out, blob.cell_sums, shape.checksum);
  encode_sums(out, blob.block_sums, shape.checksum);
  if (blob.share != 0) {
    out.varint(blob.share >> 32);
    out.varint(blob.share & kMax32);
  }
}

// May leave the decoder failed; blob_problem() is for the caller to ask.
// `blob`: as it is made.
Status decode_blob(Decoder& in, std::uint8_t head, const RecordShape& shape, Blob& blob) {
  if ((head & kIsUnplaced) != 0) {
    if ((head & kIsPacked) != 0) in.fail();
    blob.placement = Placement::kLog;
    blob.log.lsn = in.varint();
    blob.log.index = static_cast<std::uint32_t>(in.varint_up_to(kMax32));
  } else if ((head & kIsPacked) == 0) {
    blob.where = alloc::decode_extent(in);
    blob.cell_bytes =
        static_cast<std::uint32_t>(in.varint_up_to(kMaxCellBytes / kSector)) * kSector;
  } else {
    blob.placement = Placement::kPacked;
    blob.where.zone = static_cast<std::uint32_t>(in.varint_up_to(kMax32));
    blob.where.unit = static_cast<std::uint32_t>(in.varint_up_to(kMax32));
    blob.cell = static_cast<std::uint32_t>(in.varint_up_to(shape.k - 1));
    blob.cell_offset = static_cast<std::uint32_t>(in.varint_up_to(kMaxCellBytes / kPackAlignment)) *
                       kPackAlignment;
  }
  blob.raw = static_cast<std::uint32_t>(in.varint_up_to(kPageSpan));
  blob.stored = blob.raw;
  if ((head & kIsCompressed) != 0 && in.ok()) {
    HEXAD_TRY_ASSIGN(blob.frames, compression::decode_frame_set(in, blob.raw));
    if (!blob.is_compressed() || blob.frames.stored_bytes > blob.raw) in.fail();
    blob.stored = static_cast<std::uint32_t>(in.ok() ? blob.frames.stored_bytes : 0);
  }
  if (!in.ok()) return {};
  blob.cell_sums = decode_sums(in, cell_sum_count(blob, shape), shape.checksum);
  blob.block_sums = decode_sums(in, block_sum_count(blob, shape), shape.checksum);
  if ((head & kIsShared) != 0) {
    const std::uint64_t high = in.varint_up_to(kMax32) << 32;
    blob.share = high | in.varint_up_to(kMax32);
    if (blob.share == 0) in.fail();  // none has no bit
  }
  return {};
}

Error broken(std::size_t index, std::uint64_t offset, std::string_view problem) {
  return Error{ErrorCode::kCorruption, "extent " + std::to_string(index) + " at offset " +
                                           std::to_string(offset) + ": " + std::string(problem)};
}

// What is asked of the extents of one page, each after the one before it.
class PageCheck {
 public:
  PageCheck(std::uint64_t page_start, const RecordShape& shape)
      : shape_(shape), page_start_(page_start), free_from_(page_start) {}

  // nullptr, or what is wrong with the next one, which stays where it is.
  const char* next(const Extent& extent) {
    if (const char* problem = extent_problem(extent, free_from_, page_start_, shape_)) {
      return problem;
    }
    free_from_ = extent.end();
    inline_bytes_ += extent.bytes.size();
    if (inline_bytes_ > kPageInlineLimit) return kTooMuchInline;  // E3
    if (extent.is_inline()) return nullptr;
    number_ = numbers_.of(extent.blob.id());
    if (number_.is_new) {
      blobs_.push_back(&extent.blob);
    } else if (*blobs_[number_.number] != extent.blob) {  // E5
      return "its blob contradicts an earlier one at the same place";
    }
    return nullptr;
  }
  // Of the blob of the last one. Precondition: it has one.
  BlobNumbers::Number number() const { return number_; }

 private:
  const RecordShape& shape_;
  const std::uint64_t page_start_;
  std::uint64_t free_from_;
  std::uint64_t inline_bytes_ = 0;
  BlobNumbers numbers_;
  ShortList<const Blob*, 4> blobs_;  // by number
  BlobNumbers::Number number_;
};

}  // namespace

const char* extent_problem(const Extent& extent, std::uint64_t free_from, std::uint64_t page_start,
                           const RecordShape& shape) {
  if (extent.length == 0 || extent.length > kPageSpan) return "its length is out of range";  // E1
  if (extent.offset < free_from) return "it overlaps the one before it";                     // E1
  if (extent.offset - page_start > kPageSpan - extent.length ||
      extent.offset > kMaxObjectSize - extent.length) {
    return "it leaves its page or the largest object";  // E2
  }
  if (extent.is_inline()) {
    if (extent.bytes.size() != extent.length || extent.length > kInlineLimit ||
        extent.blob_offset != 0 || extent.blob != Blob{}) {
      return "its inline bytes do not fit";  // E3
    }
    return nullptr;
  }
  if (const char* problem = blob_problem(extent.blob, shape)) return problem;
  if (extent.blob_offset > extent.blob.raw ||
      extent.length > extent.blob.raw - extent.blob_offset) {
    return "it ends behind its blob";  // E4
  }
  return nullptr;
}

Status check_extents(const ExtentList& extents, std::uint64_t page_start,
                     const RecordShape& shape) {
  if (extents.size() > kMaxPageExtents) {  // E6
    return Error{ErrorCode::kCorruption, std::to_string(extents.size()) +
                                             " extents in one page, more than " +
                                             std::to_string(kMaxPageExtents)};
  }
  PageCheck check(page_start, shape);
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (const char* problem = check.next(extents[i])) {
      return broken(i, extents[i].offset, problem);
    }
  }
  return ok_status();
}

void encode_extent(Encoder& out, const Extent& extent, std::uint64_t gap,
                   const BlobNumbers::Number& number, const RecordShape& shape) {
  std::uint8_t head = gap != 0 ? kAfterGap : 0;
  if (extent.is_inline()) {
    out.u8(head | static_cast<std::uint8_t>(Source::kInline));
    if (gap != 0) out.varint(gap);
    out.u8(static_cast<std::uint8_t>(extent.length - 1));
    out.raw(extent.bytes);
    return;
  }
  const Blob& blob = extent.blob;
  const bool is_part = extent.blob_offset != 0 || extent.length != blob.raw;
  if (is_part) head |= kPart;
  if (number.is_new) {
    const bool forwarded = blob.forward != Forward::kNone;
    head |= static_cast<std::uint8_t>(forwarded ? Source::kForwarded : Source::kNewBlob);
    if (blob.placement == Placement::kPacked) head |= kIsPacked;
    if (blob.placement == Placement::kLog) head |= kIsUnplaced;
    if (blob.is_compressed()) head |= kIsCompressed;
    if (blob.share != 0) head |= kIsShared;
  } else {
    head |= static_cast<std::uint8_t>(Source::kEarlierBlob);
  }
  out.u8(head);
  if (gap != 0) out.varint(gap);
  if (is_part) {
    out.varint(extent.blob_offset);
    out.varint(extent.length);
  }
  if (number.is_new) {
    encode_blob(out, blob, shape);
  } else {
    out.varint(number.number);
  }
}

void encode_extents(Encoder& out, const ExtentList& extents, std::uint64_t page_start,
                    const RecordShape& shape, std::vector<EncodedExtent>* each) {
  HEXAD_ASSERT(extents.size() <= kMaxPageExtents);  // E6
  PageCheck check(page_start, shape);
  std::uint64_t previous_end = page_start;
  out.varint(extents.size());
  for (const Extent& extent : extents) {
    const char* const problem = check.next(extent);
    HEXAD_ASSERT(problem == nullptr);
    if (each != nullptr) each->push_back({out.size(), check.number()});
    encode_extent(out, extent, extent.offset - previous_end, check.number(), shape);
    previous_end = extent.end();
  }
}

Result<ExtentList> decode_extents(Decoder& in, std::uint64_t page_start, const RecordShape& shape) {
  ExtentList extents;
  HEXAD_TRY(decode_extents(in, page_start, shape, extents));
  return extents;
}

Status decode_extents(Decoder& in, std::uint64_t page_start, const RecordShape& shape,
                      ExtentList& extents) {
  HEXAD_ASSERT(extents.empty());
  BlobNumbers numbers;
  ShortList<std::size_t, 4> blobs;  // index of the extent that brought the blob, by number
  std::uint64_t previous_end = page_start;
  std::uint64_t inline_bytes = 0;
  const std::uint64_t count = in.varint_up_to(kMaxPageExtents);     // E6
  extents.reserve(std::min<std::uint64_t>(count, in.remaining()));  // an extent takes a byte
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    Extent& extent = extents.emplace_back();
    const std::uint8_t head = in.u8();
    const auto source = static_cast<Source>(head & kSourceMask);
    const bool is_part = (head & kPart) != 0;
    std::uint64_t gap = 0;
    if ((head & kAfterGap) != 0) {
      gap = in.varint_up_to(kPageSpan);
      if (gap == 0) in.fail();  // no gap has no bit
    }
    extent.offset = previous_end + gap;
    if (is_part) {
      extent.blob_offset = static_cast<std::uint32_t>(in.varint_up_to(kPageSpan));
      extent.length = in.varint_up_to(kPageSpan);
    }
    constexpr std::uint8_t kOfBlobs = kIsPacked | kIsCompressed | kIsUnplaced | kIsShared;
    const bool is_new = source == Source::kNewBlob || source == Source::kForwarded;
    if (!is_new && (head & kOfBlobs) != 0) {
      in.fail();
    }
    switch (source) {
      case Source::kInline:
        if (is_part) in.fail();
        extent.length = std::uint64_t{in.u8()} + 1;
        extent.bytes = in.raw(extent.length);
        break;
      case Source::kForwarded:
      case Source::kNewBlob: {
        HEXAD_TRY(decode_blob(in, head, shape, extent.blob));
        if (source == Source::kForwarded) {
          const bool unplaced = extent.blob.placement == Placement::kLog;
          extent.blob.forward = unplaced ? Forward::kDue : Forward::kWritten;
        }
        if (count == 1) break;  // which needs no number, and is most of what small objects have
        // The same blob again would have been written as an earlier one.
        if (!numbers.of(extent.blob.id()).is_new) in.fail();
        blobs.push_back(i);
        break;
      }
      case Source::kEarlierBlob: {
        const std::uint64_t index = in.varint();
        if (!in.ok() || index >= blobs.size()) {
          in.fail();
          break;
        }
        extent.blob = extents[blobs[index]].blob;
        break;
      }
      default:
        in.fail();
    }
    if (!in.ok()) break;
    if (!extent.is_inline()) {
      if (is_part && extent.blob_offset == 0 && extent.length == extent.blob.raw) {
        return broken(i, extent.offset, "it is marked as a part of its blob and is all of it");
      }
      if (!is_part) extent.length = extent.blob.raw;
    }
    previous_end = extent.end();
    inline_bytes += extent.bytes.size();
    // The order (E1) and the equality of blobs (E5) follow from the encoding; the rest does not.
    if (const char* problem = extent_problem(extent, extent.offset, page_start, shape)) {
      return broken(i, extent.offset, problem);
    }
    if (inline_bytes > kPageInlineLimit) return broken(i, extent.offset, kTooMuchInline);
  }
  return in.check("extents");
}

// What a whole blob at the page's start has of E1 to E6 follows from EB1 to EB6.
bool decode_one_blob(Decoder& in, const RecordShape& shape, Blob& blob) {
  if (in.varint() != 1) return false;
  const std::uint8_t head = in.u8();
  constexpr std::uint8_t kOther = kSourceMask | kAfterGap | kPart;
  if (!in.ok() || (head & kOther) != static_cast<std::uint8_t>(Source::kNewBlob)) return false;
  return decode_blob(in, head, shape, blob).ok() && in.ok() && blob_problem(blob, shape) == nullptr;
}

}  // namespace hexad::core
