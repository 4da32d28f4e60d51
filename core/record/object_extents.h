// What a range of an object is made of, and how writing changes that: pure functions over extents.
// The planner of a commit uses them on one page at a time; they hold for longer lists as well.
//
// What holds for every list that goes in and comes out; is_well_formed() checks it:
//   X1  extents are sorted by offset, not empty and do not overlap
//   X2  each lies within one page of kPageSpan bytes
//   X3  an inline extent has as many bytes as it is long, at most kInlineLimit, and no blob
//   X4  any other extent shows a part of its blob: blob_offset + length <= raw
//
// Bytes are only ever shown by fewer extents, never by more: what punch() leaves and removes
// together shows what was there, each byte once. A blob stays as it is when some of its bytes are
// no longer shown; it is released when none is.
#pragma once

#include <cstdint>
#include <vector>

#include "base/short_list.h"
#include "core/record/record.h"

namespace hexad::core {

bool is_well_formed(const ExtentList& extents);

// The part of `extent` within [offset, offset + length). Precondition: not empty, inside `extent`.
Extent slice(const Extent& extent, std::uint64_t offset, std::uint64_t length);

// Makes a hole: removes [offset, offset + length) from the list, cutting the extents at its ends; a
// length that passes 2^64 means to the end. Returns the parts removed. Cost: O(log n) to find, O(n)
// to move what lies behind, one copied blob for each end that falls inside an extent.
ExtentList punch(ExtentList& extents, std::uint64_t offset, std::uint64_t length);

// Puts `extent` into a hole. Inline extents that touch in one page become one as long as it is no
// longer than kInlineLimit. Precondition (asserted): the range is a hole, the extent well formed.
void insert(ExtentList& extents, Extent extent);

// punch() of the extent's range, then insert(), in one step. Precondition (asserted): the extent is
// well formed and not inline.
void overwrite(ExtentList& extents, Extent extent);

// What it has done: in the place of `covered` extents from `first` on there are now, in this order,
// what is left of the first of them, if `head`, the new one, and what is left of the last, if
// `tail`.
struct Overwritten {
  std::size_t first = 0;
  std::size_t covered = 0;
  bool head = false;
  bool tail = false;

  std::size_t count() const { return std::size_t{1} + (head ? 1 : 0) + (tail ? 1 : 0); }
};
// The same; those that were covered, as they were, go to the end of `removed`.
Overwritten overwrite(ExtentList& extents, Extent extent, ExtentList& removed);

enum class PieceKind : std::uint8_t { kHole, kInline, kBlob };

// A part of a looked-up range.
struct Piece {
  PieceKind kind = PieceKind::kHole;
  std::uint64_t offset = 0;  // in the object, bytes
  std::uint64_t length = 0;  // bytes
  std::size_t extent = 0;    // index in the list; not of a hole
  std::uint32_t from = 0;    // where in the inline bytes, or in the blob's user bytes

  bool operator==(const Piece&) const = default;
};

// Pieces that cover [offset, offset + length) in order, each byte once. Neighbours are never both
// holes. None for length 0. Precondition: offset + length does not pass 2^64.
std::vector<Piece> lookup(const ExtentList& extents, std::uint64_t offset, std::uint64_t length);

// The distinct blobs that the list shows a part of: by ascending id, then by share id those that
// have one.
std::vector<Blob> blobs_of(const ExtentList& extents);

// The blobs that `before` shows and `after` does not, by ascending id: what a commit that replaces
// one by the other gives back.
std::vector<Blob> blobs_released(const ExtentList& before, const ExtentList& after);
// The same without copies: in `before`, which has to stay as it is meanwhile.
using BlobPointers = ShortList<const Blob*, 4>;
BlobPointers released_from(const ExtentList& before, const ExtentList& after);

// Bytes kept for the list: distinct blobs as stored (after compression, before coding), and inline.
std::uint64_t stored_bytes(const ExtentList& extents);

// True when the extents of one page should be read and written again as one blob, because reading
// them costs too many pieces, or because the page breaks a limit of its encoding: more than
// kCrowdedExtents, or more than kPageInlineLimit inline bytes.
inline constexpr std::size_t kCrowdedExtents = 256;
static_assert(kCrowdedExtents < kMaxPageExtents);
bool is_crowded(const ExtentList& page);

}  // namespace hexad::core
