#include "core/plan/plan_data.h"

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "core/record/object_extents.h"

namespace hexad::core {

namespace {

// Of pages that nobody has looked at, those of the range: only such as hold something matter, and a
// range may span millions of empty ones. When more than a few hold something, the whole ones of the
// range are cut off, and the caller finds only those that lie at its ends.
Status load_or_cut(PlanState& state, ObjectContent& content, std::uint64_t offset,
                   std::uint64_t end) {
  const PageRange touched{static_cast<std::uint32_t>(offset / kPageSpan),
                          static_cast<std::uint32_t>(divide_up(end, kPageSpan))};
  const PageRange whole{static_cast<std::uint32_t>(divide_up(offset, kPageSpan)),
                        static_cast<std::uint32_t>(end / kPageSpan)};
  const bool can_cut = content.stored_body != 0 && !whole.empty();
  const std::size_t before = content.pages.size();
  const std::uint64_t limit = can_cut ? state.drops_left() : kEndOfPages;
  HEXAD_TRY_ASSIGN(const bool all, state.load_some_pages(content, touched, limit));
  state.note_drops(content.pages.size() - before);
  if (all) return {};
  HEXAD_TRY(state.load_pages(content, touched.from, whole.from));
  HEXAD_TRY(state.load_pages(content, whole.end, touched.end));
  add_cut(content.record.cuts, whole);
  return {};
}

Extent extent_of(const PayloadPiece& piece) {
  Extent extent;
  extent.offset = piece.offset;
  extent.length = piece.length;
  extent.bytes = piece.bytes;
  if (piece.bytes.empty()) extent.blob = piece.prepared.blob;
  return extent;
}

}  // namespace

Result<ObjectContent*> emptied(PlanState& state, const TransactionOp& op) {
  HEXAD_TRY_ASSIGN(Slot * slot, state.object(op.collection, op.name));
  ObjectContent* content = state.writable(*slot);
  const std::uint64_t pages = divide_up(content->record.size, kPageSpan);
  const bool any_cut = !content->record.cuts.empty() || !content->stored_cuts.empty();
  if (content->stored_body == 0 || (!any_cut && pages <= state.drops_left())) {
    HEXAD_TRY(drop_data(state, *content, 0));
    return content;
  }
  ObjectContent* const fresh = state.new_content();
  fresh->record = content->record;
  fresh->record.body = 0;
  fresh->record.cuts.clear();
  fresh->all_pages = true;
  fresh->changed = true;
  slot->current = fresh;
  return fresh;
}

Status place(PlanState& state, ObjectContent& content, const PreparedOp& prepared) {
  for (const PayloadPiece& piece : prepared.pieces) {
    HEXAD_TRY_ASSIGN(Page * at,
                     state.page(content, static_cast<std::uint32_t>(piece.offset / kPageSpan)));
    if (at->needs_memory()) at->lend(state.list());
    insert(at->change(), extent_of(piece));
  }
  return {};
}

Status place_over(PlanState& state, ObjectContent& content, const PreparedOp& prepared) {
  for (const PayloadPiece& piece : prepared.pieces) {
    HEXAD_TRY_ASSIGN(Page * at,
                     state.page(content, static_cast<std::uint32_t>(piece.offset / kPageSpan)));
    at->overwrite(extent_of(piece));
  }
  return {};
}

Status drop_data(PlanState& state, ObjectContent& content, std::uint64_t from) {
  return punch_range(state, content, from, kEndOfPages * kPageSpan - from);
}

Status punch_range(PlanState& state, ObjectContent& content, std::uint64_t offset,
                   std::uint64_t length) {
  const std::uint64_t end = offset + length;
  HEXAD_TRY(load_or_cut(state, content, offset, end));
  const auto first = static_cast<std::uint32_t>(offset / kPageSpan);
  for (auto at = content.pages.lower_bound(first); at != content.pages.end(); ++at) {
    auto& [index, page] = *at;
    const std::uint64_t begin = std::uint64_t{index} * kPageSpan;
    if (begin >= end) break;
    if (page.now().empty()) continue;
    const std::uint64_t from = std::max(begin, offset);
    if (from == begin && end - begin >= kPageSpan) {
      page.clear();
      continue;
    }
    punch(page.change(), from, std::min(begin + kPageSpan, end) - from);
  }
  return {};
}

}  // namespace hexad::core
