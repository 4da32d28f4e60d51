#include "core/plan_data.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/units.h"
#include "core/object_extents.h"
#include "core/plan_result.h"

namespace hexad::core {

Result<Content*> emptied(PlanState& state, const TransactionOp& op) {
  HEXAD_TRY_ASSIGN(Slot * slot, state.object(op.collection, op.name));
  Content* content = PlanState::writable(*slot);
  const bool untouched = slot->current == slot->original;
  if (!untouched || content->stored_body == 0 || content->record.size <= kDoomedSize) {
    HEXAD_TRY(drop_data(state, *content, 0));
    return content;
  }
  auto fresh = std::make_shared<Content>();
  fresh->record = content->record;
  fresh->record.body = 0;
  fresh->all_pages = true;
  fresh->changed = true;
  slot->current = std::move(fresh);
  return slot->current.get();
}

Status place(PlanState& state, Content& content, const PreparedOp& prepared) {
  for (const PayloadPiece& piece : prepared.pieces) {
    HEXAD_TRY_ASSIGN(Page * at,
                     state.page(content, static_cast<std::uint32_t>(piece.offset / kPageSpan)));
    Extent extent;
    extent.offset = piece.offset;
    extent.length = piece.length;
    extent.bytes = piece.bytes;
    if (piece.bytes.empty()) extent.blob = piece.prepared.blob;
    insert(at->now, std::move(extent));
    at->dirty = true;
  }
  return {};
}

Status drop_data(PlanState& state, Content& content, std::uint64_t from) {
  HEXAD_TRY(state.load_pages(content, static_cast<std::uint32_t>(from / kPageSpan)));
  for (auto& [index, at] : content.pages) {
    const std::uint64_t begin = std::uint64_t{index} * kPageSpan;
    if (begin + kPageSpan <= from || at.now.empty()) continue;
    const std::uint64_t cut = std::max(begin, from);
    punch(at.now, cut, begin + kPageSpan - cut);
    at.dirty = true;
  }
  return {};
}

Status punch_range(PlanState& state, Content& content, std::uint64_t offset, std::uint64_t length) {
  // Only pages that hold something matter, and a range may span millions of empty ones.
  const std::uint64_t end = offset + length;
  HEXAD_TRY(state.load_pages(content, static_cast<std::uint32_t>(offset / kPageSpan),
                             static_cast<std::uint32_t>(divide_up(end, kPageSpan))));
  for (auto& [index, at] : content.pages) {
    const std::uint64_t begin = std::uint64_t{index} * kPageSpan;
    if (begin + kPageSpan <= offset || begin >= end || at.now.empty()) continue;
    const std::uint64_t first = std::max(begin, offset);
    punch(at.now, first, std::min(begin + kPageSpan, end) - first);
    at.dirty = true;
  }
  return {};
}

}  // namespace hexad::core
