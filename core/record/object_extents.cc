#include "core/record/object_extents.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
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

BlobName name_of(const Blob& blob) { return {blob.share, blob.share == 0 ? blob.id() : BlobId{}}; }

struct NamedBlob {
  BlobName name;
  const Blob* blob = nullptr;
};

using NamedBlobs = ShortList<NamedBlob, 4>;

// Each blob once, where it is shown first. Sorted, so that what follows from it (the order of frees
// in the log) depends on nothing else.
NamedBlobs index_blobs(ExtentList::const_iterator begin, ExtentList::const_iterator end) {
  NamedBlobs blobs;
  for (auto extent = begin; extent != end; ++extent) {
    if (!extent->is_inline()) blobs.push_back({name_of(extent->blob), &extent->blob});
  }
  if (blobs.size() < 2) return blobs;
  std::stable_sort(blobs.begin(), blobs.end(),
                   [](const NamedBlob& a, const NamedBlob& b) { return a.name < b.name; });
  const auto last =
      std::unique(blobs.begin(), blobs.end(),
                  [](const NamedBlob& a, const NamedBlob& b) { return a.name == b.name; });
  blobs.truncate(static_cast<std::size_t>(last - blobs.begin()));
  return blobs;
}

// name_of() of both are equal, without making them: lists of hundreds are compared.
bool have_one_name(const Blob& a, const Blob& b) {
  if (a.share != b.share) return false;
  return a.share != 0 || (a.where.unit == b.where.unit && a.where.zone == b.where.zone &&
                          a.cell == b.cell && a.cell_offset == b.cell_offset && a.log == b.log);
}

bool show_the_same(const Extent& a, const Extent& b) {
  return a.is_inline() == b.is_inline() && (a.is_inline() || have_one_name(a.blob, b.blob));
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

void overwrite(ExtentList& extents, Extent extent) {
  ExtentList removed;
  overwrite(extents, std::move(extent), removed);
}

Overwritten overwrite(ExtentList& extents, Extent extent, ExtentList& removed) {
  HEXAD_ASSERT(is_well_formed(extent) && !extent.is_inline());
  const auto first = find(extents, extent.offset);
  auto behind = first;
  while (behind != extents.end() && behind->offset < extent.end()) ++behind;
  Overwritten done;
  done.first = static_cast<std::size_t>(first - extents.begin());
  done.covered = static_cast<std::size_t>(behind - first);
  // What is left of those at the ends, which may be one.
  std::array<Extent, 3> parts;
  std::size_t count = 0;
  done.head = first != behind && first->offset < extent.offset;
  if (done.head) parts[count++] = slice(*first, first->offset, extent.offset - first->offset);
  const std::uint64_t end = extent.end();
  parts[count++] = std::move(extent);
  done.tail = first != behind && std::prev(behind)->end() > end;
  if (done.tail) {
    const Extent& last = *std::prev(behind);
    parts[count++] = slice(last, end, last.end() - end);
  }
  removed.insert(removed.end(), std::make_move_iterator(first), std::make_move_iterator(behind));
  const std::size_t in_place = std::min(done.covered, count);
  const auto next = std::move(parts.begin(), parts.begin() + in_place, first);
  if (done.covered > count) {
    extents.erase(next, behind);
  } else {
    extents.insert(next, std::make_move_iterator(parts.begin() + in_place),
                   std::make_move_iterator(parts.begin() + count));
  }
  return done;
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
  for (const NamedBlob& named : index_blobs(extents.begin(), extents.end())) {
    blobs.push_back(*named.blob);
  }
  return blobs;
}

std::vector<Blob> blobs_released(const ExtentList& before, const ExtentList& after) {
  std::vector<Blob> released;
  for (const Blob* const blob : released_from(before, after)) released.push_back(*blob);
  return released;
}

BlobPointers released_from(const ExtentList& before, const ExtentList& after) {
  // A small change leaves what is on both sides of it.
  const auto [first, after_first] =
      std::mismatch(before.begin(), before.end(), after.begin(), after.end(), show_the_same);
  auto end = before.end();
  for (auto at = after.end();
       end != first && at != after_first && show_the_same(*std::prev(end), *std::prev(at)); --at) {
    --end;
  }
  const NamedBlobs candidates = index_blobs(first, end);
  BlobPointers released;
  if (candidates.empty()) return released;
  if (candidates.size() == 1) {
    const Blob& blob = *candidates.front().blob;
    const bool shown = std::any_of(after.begin(), after.end(), [&](const Extent& extent) {
      return !extent.is_inline() && have_one_name(extent.blob, blob);
    });
    if (!shown) released.push_back(&blob);
    return released;
  }
  std::vector<bool> kept(candidates.size());
  for (auto at = after.begin(); at != after.end(); ++at) {
    if (at->is_inline()) continue;
    const BlobName name = name_of(at->blob);
    const auto found =
        std::partition_point(candidates.begin(), candidates.end(),
                             [&](const NamedBlob& candidate) { return candidate.name < name; });
    if (found != candidates.end() && found->name == name) {
      kept[static_cast<std::size_t>(found - candidates.begin())] = true;
    }
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!kept[i]) released.push_back(candidates[i].blob);
  }
  return released;
}

std::uint64_t stored_bytes(const ExtentList& extents) {
  std::uint64_t total = 0;
  for (const Extent& extent : extents) total += extent.bytes.size();
  if (extents.size() == 1) return total + extents[0].blob.stored;  // an inline one has no blob
  for (const NamedBlob& named : index_blobs(extents.begin(), extents.end())) {
    total += named.blob->stored;
  }
  return total;
}

bool is_crowded(const ExtentList& page) {
  std::uint64_t inline_bytes = 0;
  for (const Extent& extent : page) inline_bytes += extent.bytes.size();
  return page.size() > kCrowdedExtents || inline_bytes > kPageInlineLimit;
}

}  // namespace hexad::core
