#include "core/object_extents.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "base/units.h"

namespace hexad::core {
namespace {

bool is_well_formed(const Extent& extent) {
  if (extent.length == 0 || add_overflows(extent.offset, extent.length)) return false;
  if (extent.offset / kPageSpan != (extent.end() - 1) / kPageSpan) return false;  // X2
  if (extent.is_inline()) {                                                       // X3
    return extent.bytes.size() == extent.length && extent.length <= kInlineLimit &&
           extent.blob_offset == 0 && extent.blob == Blob{};
  }
  return extent.blob_offset <= extent.blob.raw &&
         extent.length <= extent.blob.raw - extent.blob_offset;  // X4
}

// The first extent that ends behind `offset`.
template <typename List>
auto find(List& extents, std::uint64_t offset) {
  return std::partition_point(extents.begin(), extents.end(),
                              [&](const Extent& extent) { return extent.end() <= offset; });
}

// Cuts the extent that has `offset` inside, if there is one. Returns the index of the first extent
// at or behind `offset`. The list may move in memory.
std::ptrdiff_t split_at(ExtentList& extents, std::uint64_t offset) {
  const auto at = find(extents, offset);
  const std::ptrdiff_t index = at - extents.begin();
  if (at == extents.end() || at->offset >= offset) return index;
  Extent tail = slice(*at, offset, at->end() - offset);
  at->length = offset - at->offset;
  if (at->is_inline()) at->bytes.resize(at->length);
  extents.insert(std::next(at), std::move(tail));
  return index + 1;
}

bool may_join(const Extent& left, const Extent& right) {
  return left.is_inline() && right.is_inline() && left.end() == right.offset &&
         left.length + right.length <= kInlineLimit &&
         left.offset / kPageSpan == right.offset / kPageSpan;
}

// Joins extents[index] with the one behind it where that is allowed.
void join_with_next(ExtentList& extents, std::size_t index) {
  if (index + 1 >= extents.size() || !may_join(extents[index], extents[index + 1])) return;
  extents[index].bytes += extents[index + 1].bytes;
  extents[index].length = extents[index].bytes.size();
  extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(index) + 1);
}

// A shared blob may be named by its transaction in one place and by its stripe in another.
using BlobName = std::pair<ShareId, BlobId>;

// Sorted, so that what follows from it (the order of frees in the log) depends on nothing else.
std::map<BlobName, const Blob*> index_blobs(const ExtentList& extents) {
  std::map<BlobName, const Blob*> blobs;
  for (const Extent& extent : extents) {
    if (extent.is_inline()) continue;
    const Blob& blob = extent.blob;
    blobs.emplace(BlobName{blob.share, blob.share == 0 ? blob.id() : BlobId{}}, &blob);
  }
  return blobs;
}

}  // namespace

bool is_well_formed(const ExtentList& extents) {
  std::uint64_t free_from = 0;
  for (const Extent& extent : extents) {
    if (extent.offset < free_from || !is_well_formed(extent)) return false;  // X1
    free_from = extent.end();
  }
  return true;
}

Extent slice(const Extent& extent, std::uint64_t offset, std::uint64_t length) {
  HEXAD_ASSERT(length > 0 && offset >= extent.offset && length <= extent.length &&
               offset - extent.offset <= extent.length - length);
  const std::uint64_t skipped = offset - extent.offset;
  Extent part;
  part.offset = offset;
  part.length = length;
  if (extent.is_inline()) {
    part.bytes = extent.bytes.substr(skipped, length);
  } else {
    part.blob_offset = extent.blob_offset + static_cast<std::uint32_t>(skipped);
    part.blob = extent.blob;
  }
  return part;
}

ExtentList punch(ExtentList& extents, std::uint64_t offset, std::uint64_t length) {
  if (length == 0) return {};
  const std::uint64_t end =
      add_overflows(offset, length) ? std::numeric_limits<std::uint64_t>::max() : offset + length;
  const std::ptrdiff_t first = split_at(extents, offset);
  const std::ptrdiff_t behind_last = split_at(extents, end);
  const auto begin = extents.begin() + first;
  const auto behind = extents.begin() + behind_last;
  ExtentList removed(std::make_move_iterator(begin), std::make_move_iterator(behind));
  extents.erase(begin, behind);
  return removed;
}

void insert(ExtentList& extents, Extent extent) {
  HEXAD_ASSERT(is_well_formed(extent));
  const auto at = find(extents, extent.offset);
  HEXAD_ASSERT(at == extents.end() || at->offset >= extent.end());  // X1
  const auto index = static_cast<std::size_t>(at - extents.begin());
  extents.insert(at, std::move(extent));
  join_with_next(extents, index);
  if (index > 0) join_with_next(extents, index - 1);
}

std::vector<Piece> lookup(const ExtentList& extents, std::uint64_t offset, std::uint64_t length) {
  HEXAD_ASSERT(!add_overflows(offset, length));
  std::vector<Piece> pieces;
  const std::uint64_t end = offset + length;
  std::uint64_t position = offset;
  for (auto at = find(extents, offset); position < end; ++at) {
    const std::uint64_t data_from = at == extents.end() ? end : std::min(at->offset, end);
    if (position < data_from) {
      pieces.push_back({.offset = position, .length = data_from - position});
      position = data_from;
    }
    if (position == end) break;
    const std::uint64_t data_end = std::min(at->end(), end);
    const std::uint64_t skipped = position - at->offset;
    pieces.push_back({.kind = at->is_inline() ? PieceKind::kInline : PieceKind::kBlob,
                      .offset = position,
                      .length = data_end - position,
                      .extent = static_cast<std::size_t>(at - extents.begin()),
                      .from = at->blob_offset + static_cast<std::uint32_t>(skipped)});
    position = data_end;
  }
  return pieces;
}

std::vector<Blob> blobs_of(const ExtentList& extents) {
  std::vector<Blob> blobs;
  for (const auto& [id, blob] : index_blobs(extents)) blobs.push_back(*blob);
  return blobs;
}

std::vector<Blob> blobs_released(const ExtentList& before, const ExtentList& after) {
  const std::map<BlobName, const Blob*> kept = index_blobs(after);
  std::vector<Blob> released;
  for (const auto& [id, blob] : index_blobs(before)) {
    if (!kept.contains(id)) released.push_back(*blob);
  }
  return released;
}

std::uint64_t stored_bytes(const ExtentList& extents) {
  std::uint64_t total = 0;
  for (const Extent& extent : extents) total += extent.bytes.size();
  for (const auto& [id, blob] : index_blobs(extents)) total += blob->stored;
  return total;
}

bool is_crowded(const ExtentList& page) {
  std::uint64_t inline_bytes = 0;
  for (const Extent& extent : page) inline_bytes += extent.bytes.size();
  return page.size() > kCrowdedExtents || inline_bytes > kPageInlineLimit;
}

}  // namespace hexad::core
