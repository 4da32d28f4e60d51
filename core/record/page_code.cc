#include "core/record/page_code.h"

#include <algorithm>
#include <optional>

#include "base/units.h"
#include "core/record/blob_numbers.h"
#include "core/record/extent_codec.h"

namespace hexad::core {

namespace {

// Extents that are not alike: where there are more, numbering all blobs anew costs less than
// looking for each of theirs.
constexpr std::size_t kMostChanged = 48;
constexpr std::uint32_t kNone = ~std::uint32_t{0};

// Whether both are encoded alike, gap and number apart. What else a blob has follows from its place
// (E5), and of a list that has become of the other one also from list to list: a place is not given
// out again before its blob is gone from every state (A4). Compared are what extents of one blob
// differ in, and beside the place what would show that this was not so.
bool is_alike(const Extent& a, const Extent& b) {
  if (a.offset != b.offset || a.length != b.length || a.is_inline() != b.is_inline()) return false;
  if (a.is_inline()) return a.bytes == b.bytes;
  const Blob& x = a.blob;
  const Blob& y = b.blob;
  return a.blob_offset == b.blob_offset && x.placement == y.placement && x.forward == y.forward &&
         x.where == y.where && x.cell == y.cell && x.cell_offset == y.cell_offset &&
         x.log == y.log && x.share == y.share && x.raw == y.raw && x.stored == y.stored &&
         x.cell_bytes == y.cell_bytes && x.cell_sums == y.cell_sums;
}

PageCode::Mark mark_of(const Extent& extent, std::size_t at, const BlobNumbers::Number& number) {
  PageCode::Mark mark;
  mark.at = static_cast<std::uint32_t>(at);
  if (extent.is_inline()) return mark;
  mark.number = static_cast<std::uint32_t>(number.number);
  mark.is_new = number.is_new;
  mark.was_unplaced = extent.blob.placement == Placement::kLog;
  return mark;
}

class Splicer {
 public:
  Splicer(const ExtentList& extents, const RecordShape& shape, const KnownPage& before)
      : now_(extents),
        shape_(shape),
        was_(before.extents),
        old_(before.code),
        start_(round_down(extents.front().offset, kPageSpan)),
        new_number_(before.extents.size(), kNone),
        out_(code_.value) {}

  // Nothing: too much has changed.
  std::optional<PageCode> run() {
    HEXAD_ASSERT(now_.size() <= kMaxPageExtents);  // E6
    code_.value.reserve(old_.value.size() + 256);
    code_.marks.reserve(now_.size());
    out_.u8(page_kind(now_));
    out_.varint(now_.size());
    std::uint64_t end = start_;
    std::uint64_t inline_bytes = 0;
    std::size_t at = 0;  // in the list from before
    for (const Extent& extent : now_) {
      HEXAD_ASSERT(extent.offset >= end);  // E1
      inline_bytes += extent.bytes.size();
      HEXAD_ASSERT(inline_bytes <= kPageInlineLimit);  // E3
      while (at < was_.size() && was_[at].offset < extent.offset) ++at;
      const bool alike = at < was_.size() && is_alike(extent, was_[at]) && !is_stale(at);
      if (!alike && ++changed_ > kMostChanged) return std::nullopt;
      add(extent, extent.offset - end, alike ? at : was_.size());
      end = extent.end();
    }
    flush();
    return std::move(code_);
  }

 private:
  // The blob has got its place since it was encoded.
  bool is_stale(std::size_t at) const {
    return old_.marks[at].was_unplaced && was_[at].blob.placement != Placement::kLog;
  }
  std::uint64_t gap_before(std::size_t at) const {
    return was_[at].offset - (at == 0 ? start_ : was_[at - 1].end());
  }

  // `at`: of the extent of before that it is alike; was_.size(): of none.
  void add(const Extent& extent, std::uint64_t gap, std::size_t at) {
    const bool alike = at < was_.size();
    BlobNumbers::Number number;
    if (!extent.is_inline()) number = alike ? number_of_old(old_.marks[at].number) : find(extent);
    const bool same_number =
        extent.is_inline() || (alike && number.is_new == old_.marks[at].is_new &&
                               (number.is_new || number.number == old_.marks[at].number));
    if (alike && same_number && gap == gap_before(at)) {
      code_.marks.push_back(mark_of(extent, copy(at), number));
      return;
    }
    flush();
    code_.marks.push_back(mark_of(extent, out_.size(), number));
    if (!alike) HEXAD_ASSERT(extent_problem(extent, extent.offset, start_, shape_) == nullptr);
    encode_extent(out_, extent, gap, number, shape_);
  }

  // The bytes of an extent as they were; those that follow one another are copied at once. Returns
  // where it begins now.
  std::size_t copy(std::size_t at) {
    const std::size_t begin = old_.marks[at].at;
    const std::size_t end = at + 1 < was_.size() ? old_.marks[at + 1].at : old_.value.size();
    if (begin != copy_end_) {
      flush();
      copy_from_ = begin;
    }
    copy_end_ = end;
    return out_.size() + (begin - copy_from_);
  }
  void flush() {
    out_.raw(std::string_view(old_.value).substr(copy_from_, copy_end_ - copy_from_));
    copy_from_ = copy_end_ = 0;
  }

  // Of a blob that had this number before.
  BlobNumbers::Number number_of_old(std::uint32_t old) {
    std::uint32_t& number = new_number_[old];
    if (number != kNone) return {number, false};
    number = next_++;
    return {number, true};
  }
  // Of a blob that may be among those of before, or among those that have come.
  BlobNumbers::Number find(const Extent& extent) {
    const BlobId id = extent.blob.id();
    for (std::size_t i = 0; i < was_.size(); ++i) {
      if (!old_.marks[i].is_new || was_[i].blob.id() != id) continue;
      return number_of_old(old_.marks[i].number);
    }
    const BlobNumbers::Number come = come_.of(id);
    if (!come.is_new) {
      HEXAD_ASSERT(*come_blobs_[come.number] == extent.blob);  // E5
      return {come_numbers_[come.number], false};
    }
    come_blobs_.push_back(&extent.blob);
    come_numbers_.push_back(next_);
    return {next_++, true};
  }

  const ExtentList& now_;
  const RecordShape& shape_;
  const ExtentList& was_;
  const PageCode& old_;
  const std::uint64_t start_;
  std::vector<std::uint32_t> new_number_;  // by the number of before
  std::uint32_t next_ = 0;
  BlobNumbers come_;  // of blobs that were not there before
  std::vector<const Blob*> come_blobs_;
  std::vector<std::uint32_t> come_numbers_;
  std::size_t changed_ = 0;
  std::size_t copy_from_ = 0;  // in the value of before: what is to be copied next
  std::size_t copy_end_ = 0;
  PageCode code_;
  Encoder out_;
};

}  // namespace

PageCode code_page(const ExtentList& extents, const RecordShape& shape) {
  PageCode code;
  Encoder out(code.value);
  out.u8(page_kind(extents));
  std::vector<EncodedExtent> each;
  each.reserve(extents.size());
  encode_extents(out, extents, round_down(extents.front().offset, kPageSpan), shape, &each);
  code.marks.reserve(extents.size());
  for (std::size_t i = 0; i < extents.size(); ++i) {
    code.marks.push_back(mark_of(extents[i], each[i].at, each[i].number));
  }
  return code;
}

PageCode code_page(const ExtentList& extents, const RecordShape& shape, const KnownPage& before) {
  HEXAD_ASSERT(before.code.marks.size() == before.extents.size());  // PC2
  if (!before.extents.empty() &&
      before.extents.front().offset / kPageSpan == extents.front().offset / kPageSpan) {
    if (std::optional<PageCode> code = Splicer(extents, shape, before).run()) {
      return std::move(*code);
    }
  }
  return code_page(extents, shape);
}

}  // namespace hexad::core
