// The extents of one page as bytes: the part that object records and extent pages share.
// doc/format.md#extents
//
// What holds for every list of extents that is written or read:
//   E1  extents are sorted by offset, not empty and do not overlap
//   E2  all of them lie in one page and end at or below the largest object size
//   E3  an inline extent has 1 to kInlineLimit bytes and no blob; together at most kPageInlineLimit
//   E4  any other extent shows a part of its blob: blob_offset + length <= raw
//   E5  extents with blobs of the same identity have equal blobs
//   E6  there are at most kMaxPageExtents
// and for every blob:
//   EB1 a private stripe has units, none of them the header's, and ends below 2^32; a packed blob
//       names a stripe behind the header; an unplaced one names an LSN, and no stripe
//   EB2 0 < stored <= raw <= kPageSpan
//   EB3 private: cell_bytes is a positive multiple of 512; the k cells hold `stored` bytes and are
//       not a physical block longer than that needs. Packed: at a multiple of 8 in a data cell
//       that is not longer than kMaxCellBytes
//   EB4 frames, where there are any, add up to raw and stored; without them raw == stored
//   EB5 there are as many sums as RecordShape says, each of the width of the checksum
//   EB6 a private blob is not forwarded; a packed one that is has its key, an unplaced one has none
//       yet
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/codec.h"
#include "base/error.h"
#include "core/record/blob_numbers.h"
#include "core/record/record.h"

namespace hexad::core {

// E1 to E6 and EB1 to EB6 for extents that belong into the page at `page_start`, a multiple of
// kPageSpan. Errors: kCorruption, naming the extent and what is wrong.
Status check_extents(const ExtentList& extents, std::uint64_t page_start, const RecordShape& shape);

// An extent as it was encoded.
struct EncodedExtent {
  std::size_t at = 0;          // where it begins, of all that the encoder has
  BlobNumbers::Number number;  // of its blob; of no meaning for an inline one
};

// Precondition (asserted): check_extents() holds. `each`: gets one for each extent, in order.
void encode_extents(Encoder& out, const ExtentList& extents, std::uint64_t page_start,
                    const RecordShape& shape, std::vector<EncodedExtent>* each = nullptr);
// The result passes check_extents(). Allocates at most kMaxPageExtents extents and, for each, the
// sums of a blob that was in the input.
// Errors: kCorruption, kUnsupported (a compression algorithm that this version does not know).
Result<ExtentList> decode_extents(Decoder& in, std::uint64_t page_start, const RecordShape& shape);
// The same into an empty list, in the memory that it has.
Status decode_extents(Decoder& in, std::uint64_t page_start, const RecordShape& shape,
                      ExtentList& extents);

// The same of the first page, where its list has one extent alone, which shows all of a blob that
// is not forwarded, from the object's first byte on. False: it is another list, or none. `blob`: as
// it is made; of no meaning then.
bool decode_one_blob(Decoder& in, const RecordShape& shape, Blob& blob);

// Parts of encode_extents(), for who knows the rest already (core/record/page_code.h). One extent:
// `gap`, the bytes of the object between the one before it, or the page's start, and it; the number
// of its blob, of no meaning for an inline one.
void encode_extent(Encoder& out, const Extent& extent, std::uint64_t gap,
                   const BlobNumbers::Number& number, const RecordShape& shape);
// E1 to E4 and EB1 to EB6 of one extent behind those that end at `free_from`: nullptr, or what is
// wrong.
const char* extent_problem(const Extent& extent, std::uint64_t free_from, std::uint64_t page_start,
                           const RecordShape& shape);

}  // namespace hexad::core
