#include "core/record/page_code.h"

#include <algorithm>
#include <optional>

#include "base/short_list.h"
#include "base/units.h"
#include "core/record/blob_numbers.h"
#include "core/record/extent_codec.h"

namespace hexad::core {

namespace {

// Extents that are not alike: where there are more, numbering all blobs anew costs less than
// looking for each of theirs.
constexpr std::size_t kMostChanged = 48;

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

PageCode::Mark mark_of(const Extent& extent, std::size_t at, std::uint64_t gap,
                       const BlobNumbers::Number& number) {
  PageCode::Mark mark;
  mark.at = static_cast<std::uint32_t>(at);
  mark.gap = static_cast<std::uint32_t>(gap);
  if (extent.is_inline()) return mark;
  mark.number = static_cast<std::uint32_t>(number.number);
  mark.is_new = number.is_new;
  mark.was_unplaced = extent.blob.placement == Placement::kLog;
  return mark;
}

// What comes in the place of other bytes; no more of both than differs.
class PieceMaker {
 public:
  // `runs`: of bytes that stay.
  PieceMaker(std::string_view before, std::string_view now, std::size_t runs)
      : before_(before), now_(now) {
    pieces_.reserve(runs + 1);
  }

  // Behind the last ones that stay, these bytes of before stay, which begin at `now_from` now.
  void stay(std::size_t from, std::size_t end, std::size_t now_from) {
    std::string_view gone = before_.substr(before_done_, from - before_done_);
    std::string_view come = now_.substr(now_done_, now_from - now_done_);
    before_done_ = end;
    now_done_ = now_from + (end - from);
    const auto differs = std::mismatch(gone.begin(), gone.end(), come.begin(), come.end());
    const auto front = static_cast<std::size_t>(differs.first - gone.begin());
    gone.remove_prefix(front);
    come.remove_prefix(front);
    const auto alike = std::mismatch(gone.rbegin(), gone.rend(), come.rbegin(), come.rend());
    const auto back = static_cast<std::size_t>(alike.first - gone.rbegin());
    gone.remove_suffix(back);
    come.remove_suffix(back);
    keep_ += front;
    if (!gone.empty() || !come.empty()) {
      pieces_.push_back({static_cast<std::uint32_t>(keep_), static_cast<std::uint32_t>(gone.size()),
                         std::string(come)});
      keep_ = 0;
    }
    keep_ += back + (end - from);
  }
  std::vector<PatchPiece> finish() {
    stay(before_.size(), before_.size(), now_.size());
    return std::move(pieces_);
  }

 private:
  const std::string_view before_;
  const std::string_view now_;
  std::size_t before_done_ = 0;
  std::size_t now_done_ = 0;
  std::size_t keep_ = 0;
  std::vector<PatchPiece> pieces_;
};

class Splicer {
 public:
  Splicer(const ExtentList& extents, const ExtentOrigins& origins, const RecordShape& shape,
          const PageCode& before)
      : now_(extents),
        origins_(origins),
        shape_(shape),
        old_(before),
        start_(round_down(extents.front().offset, kPageSpan)),
        out_(spliced_.code.value) {}

  SplicedPage run() {
    HEXAD_ASSERT(now_.size() <= kMaxPageExtents);  // E6
    HEXAD_ASSERT(now_.size() == origins_.size());
    PageCode& code = spliced_.code;
    spliced_.numbers.assign(old_.marks.size(), kNoNumber);
    code.value.reserve(old_.value.size() + 256);
    code.marks.reserve(now_.size());
    out_.u8(0);  // known at the end
    out_.varint(now_.size());
    for (std::size_t i = 0; i < now_.size();) {
      const Extent& extent = now_[i];
      HEXAD_ASSERT(extent.offset >= end_);  // E1
      inline_bytes_ += extent.bytes.size();
      HEXAD_ASSERT(inline_bytes_ <= kPageInlineLimit);  // E3
      any_unplaced_ |= extent.blob.placement == Placement::kLog;
      const bool copied = add(extent, extent.offset - end_, origins_[i]);
      end_ = extent.end();
      i = copied ? add_run(i + 1) : i + 1;
    }
    flush();
    code.value[0] = static_cast<char>(any_unplaced_ ? kUnplacedPageKind : kPageKind);
    PieceMaker pieces(old_.value, code.value, copied_.size());
    for (const Copied& copied : copied_) pieces.stay(copied.from, copied.end, copied.to);
    spliced_.pieces = pieces.finish();
    return std::move(spliced_);
  }

 private:
  // Bytes of the value before, and where they are now.
  struct Copied {
    std::size_t from = 0;
    std::size_t end = 0;
    std::size_t to = 0;
  };

  // Whether its bytes are copied.
  bool add(const Extent& extent, std::uint64_t gap, const ExtentOrigin& origin) {
    const PageCode::Mark* const old = origin.is_kept() ? &old_.marks[origin.index()] : nullptr;
    BlobNumbers::Number number;
    if (!extent.is_inline()) number = number_of(extent, origin);
    // The blob may have got its place since it was encoded.
    const bool is_stale =
        old != nullptr && old->was_unplaced && extent.blob.placement != Placement::kLog;
    const bool same_number =
        extent.is_inline() || (old != nullptr && number.is_new == old->is_new &&
                               (number.is_new || number.number == old->number));
    if (old != nullptr && !is_stale && same_number && gap == old->gap) {
      PageCode::Mark mark = *old;
      mark.at = static_cast<std::uint32_t>(copy(origin.index()));
      mark.number = extent.is_inline() ? 0 : static_cast<std::uint32_t>(number.number);
      spliced_.code.marks.push_back(mark);
      return true;
    }
    flush();
    spliced_.code.marks.push_back(mark_of(extent, out_.size(), gap, number));
    if (old == nullptr || is_stale) {
      HEXAD_ASSERT(extent_problem(extent, extent.offset, start_, shape_) == nullptr);
    }
    encode_extent(out_, extent, gap, number, shape_);
    return false;
  }

  // Extents that follow one that is copied, and did so before: the bytes of each follow those of
  // the other, and the gap is what it was. Most of a page is such runs. Returns where it ends.
  std::size_t add_run(std::size_t i) {
    std::vector<PageCode::Mark>& marks = spliced_.code.marks;
    const PageCode::Mark* old = old_.marks.data() + origins_[i - 1].index() + 1;
    const std::uint32_t moved = marks.back().at - old[-1].at;  // as a difference of any sign
    std::uint64_t end = end_;
    std::uint64_t inline_bytes = inline_bytes_;
    bool any_unplaced = any_unplaced_;
    const std::size_t first = i;
    for (; i < now_.size(); ++i, ++old) {
      const ExtentOrigin origin = origins_[i];
      if (!origin.is_kept() || old_.marks.data() + origin.index() != old) break;
      const Extent& extent = now_[i];
      const bool is_unplaced = extent.blob.placement == Placement::kLog;
      if (old->was_unplaced && !is_unplaced) break;
      std::uint32_t number = 0;
      if (!extent.is_inline()) {
        std::uint32_t& known = spliced_.numbers[old->number];
        if (old->is_new ? known != kNoNumber : known != old->number) break;
        if (old->is_new) known = next_++;
        number = known;
      }
      HEXAD_ASSERT(extent.offset >= end);  // E1
      inline_bytes += extent.bytes.size();
      HEXAD_ASSERT(inline_bytes <= kPageInlineLimit);  // E3
      any_unplaced |= is_unplaced;
      end = extent.end();
      marks.push_back({old->at + moved, old->gap, number, old->is_new, old->was_unplaced});
    }
    if (i != first) {
      copy_end_ = old == old_.marks.data() + old_.marks.size() ? old_.value.size() : old->at;
    }
    end_ = end;
    inline_bytes_ = inline_bytes;
    any_unplaced_ = any_unplaced;
    return i;
  }

  // The bytes of an extent as they were; those that follow one another are copied at once. Returns
  // where it begins now.
  std::size_t copy(std::size_t at) {
    const std::size_t begin = old_.marks[at].at;
    const std::size_t end = at + 1 < old_.marks.size() ? old_.marks[at + 1].at : old_.value.size();
    if (begin != copy_end_) {
      flush();
      copy_from_ = begin;
    }
    copy_end_ = end;
    return out_.size() + (begin - copy_from_);
  }
  void flush() {
    if (copy_end_ == 0) return;
    copied_.push_back({copy_from_, copy_end_, out_.size()});
    out_.raw(std::string_view(old_.value).substr(copy_from_, copy_end_ - copy_from_));
    copy_from_ = copy_end_ = 0;
  }

  BlobNumbers::Number number_of(const Extent& extent, const ExtentOrigin& origin) {
    if (!origin.is_fresh()) {
      std::uint32_t& number = spliced_.numbers[old_.marks[origin.index()].number];
      if (number != kNoNumber) return {number, false};
      number = next_++;
      return {number, true};
    }
    const BlobNumbers::Number come = come_.of(extent.blob.id());
    if (!come.is_new) {
      HEXAD_ASSERT(*come_blobs_[come.number] == extent.blob);  // E5
      return {come_numbers_[come.number], false};
    }
    come_blobs_.push_back(&extent.blob);
    come_numbers_.push_back(next_);
    return {next_++, true};
  }

  const ExtentList& now_;
  const ExtentOrigins& origins_;
  const RecordShape& shape_;
  const PageCode& old_;
  const std::uint64_t start_;
  std::uint64_t end_ = start_;  // of the last one
  std::uint64_t inline_bytes_ = 0;
  bool any_unplaced_ = false;
  std::uint32_t next_ = 0;
  BlobNumbers come_;  // of blobs that were not there before
  ShortList<const Blob*, 8> come_blobs_;
  ShortList<std::uint32_t, 8> come_numbers_;
  ShortList<Copied, 16> copied_;
  std::size_t copy_from_ = 0;  // in the value of before: what is to be copied next
  std::size_t copy_end_ = 0;
  SplicedPage spliced_;
  Encoder out_;
};

// What has become of what, found by comparing. Nothing: too much has changed.
std::optional<ExtentOrigins> compare(const ExtentList& now, const KnownPage& before) {
  const ExtentList& was = before.extents;
  const std::vector<PageCode::Mark>& marks = before.code.marks;
  ExtentOrigins origins;
  origins.reserve(now.size());
  std::size_t changed = 0;
  std::size_t at = 0;  // in the list from before
  for (const Extent& extent : now) {
    while (at < was.size() && was[at].offset < extent.offset) ++at;
    if (at < was.size() && is_alike(extent, was[at])) {
      origins.push_back(ExtentOrigin::kept(at));
      continue;
    }
    if (++changed > kMostChanged) return std::nullopt;
    origins.push_back(ExtentOrigin::fresh());
    if (extent.is_inline()) continue;
    const BlobId id = extent.blob.id();
    for (std::size_t i = 0; i < was.size(); ++i) {
      if (!marks[i].is_new || was[i].blob.id() != id) continue;
      origins.back() = ExtentOrigin::part_of(i);
      break;
    }
  }
  return origins;
}

}  // namespace

PageCode code_page(const ExtentList& extents, const RecordShape& shape) {
  PageCode code;
  Encoder out(code.value);
  out.u8(page_kind(extents));
  std::vector<EncodedExtent> each;
  each.reserve(extents.size());
  encode_extents(out, extents, round_down(extents.front().offset, kPageSpan), shape, &each);
  code.marks.reserve(extents.size());
  std::uint64_t end = round_down(extents.front().offset, kPageSpan);
  for (std::size_t i = 0; i < extents.size(); ++i) {
    code.marks.push_back(mark_of(extents[i], each[i].at, extents[i].offset - end, each[i].number));
    end = extents[i].end();
  }
  return code;
}

PageCode code_page(const ExtentList& extents, const RecordShape& shape, const KnownPage& before) {
  HEXAD_ASSERT(before.code.marks.size() == before.extents.size());  // PC2
  if (!before.extents.empty() &&
      before.extents.front().offset / kPageSpan == extents.front().offset / kPageSpan) {
    if (const std::optional<ExtentOrigins> origins = compare(extents, before)) {
      return splice_page(extents, *origins, shape, before.code).code;
    }
  }
  return code_page(extents, shape);
}

SplicedPage splice_page(const ExtentList& extents, const ExtentOrigins& origins,
                        const RecordShape& shape, const PageCode& before) {
  return Splicer(extents, origins, shape, before).run();
}

bool is_plain(const ExtentList& extents) {
  return std::all_of(extents.begin(), extents.end(), [](const Extent& extent) {
    return extent.blob.share == 0 && extent.blob.forward == Forward::kNone;
  });
}

HiddenBytes hidden_bytes(const ExtentList& extents, const PageCode& code) {
  HEXAD_ASSERT(code.marks.size() == extents.size());  // PC2
  ShortList<BlobUse, 16> uses;
  std::vector<std::uint32_t> use_of(extents.size(), kNoNumber);  // by the number of the blob
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const Extent& extent = extents[i];
    if (extent.is_inline() || extent.length >= extent.blob.raw) continue;
    std::uint32_t& use = use_of[code.marks[i].number];
    if (use == kNoNumber) {
      use = static_cast<std::uint32_t>(uses.size());
      uses.push_back({&extent.blob, 0});
    }
    uses[use].shown += extent.length;
  }
  HiddenBytes bytes;
  for (const BlobUse& use : uses) bytes.add(use);
  return bytes;
}

}  // namespace hexad::core
