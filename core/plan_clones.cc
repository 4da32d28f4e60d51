#include "core/plan_clones.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/units.h"
#include "core/object_extents.h"
#include "core/plan_data.h"
#include "core/plan_result.h"

namespace hexad::core {

namespace {

std::uint64_t inline_bytes(const ExtentList& extents) {
  std::uint64_t bytes = 0;
  for (const Extent& extent : extents) bytes += extent.bytes.size();
  return bytes;
}

}  // namespace

Status CloneOps::clone(const TransactionOp& op) {
  HEXAD_TRY_ASSIGN(Slot * from, state_.existing_object(op));
  HEXAD_TRY_ASSIGN(Slot * to, state_.object(op.other_collection, op.other));
  Content& source = *from->current;
  HEXAD_TRY(load_for_clone(op, source, 0, PlanState::kNoEnd));
  HEXAD_TRY(freeze_omap(op, source));
  auto copy = std::make_shared<Content>();
  copy->record = source.record;
  copy->record.body = 0;
  copy->all_pages = true;
  copy->changed = true;
  for (auto& [index, at] : source.pages) {
    if (at.now.empty()) continue;
    state_.share(source, at, 0, kMaxObjectSize + 1);
    copy->pages[index] = Page{{}, at.now, true};
  }
  to->current = std::move(copy);
  return {};
}

Status CloneOps::freeze_omap(const TransactionOp& op, Content& source) {
  ObjectRecord& record = source.record;
  if (record.omap == 0) return {};
  if (record.layers.size() == kMaxOmapLayers) return note_layered(op, record);
  record.layers.insert(record.layers.begin(), record.omap);
  record.omap = 0;
  source.rewritten = true;
  return {};
}

Status CloneOps::note_layered(const TransactionOp& op, const ObjectRecord& record) {
  for (const auto& [key, slot] : state_.objects()) {
    const std::vector<OmapId>& layers = slot.original_layers;
    if (layers.size() < 2 || layers.back() != record.layers.back()) continue;
    const auto collection = collection_before(state_, key);
    if (collection.has_value()) plan_.layered.push_back({*collection, slot.name});
  }
  if (!plan_.layered.empty()) return {};
  return Error{ErrorCode::kTooBig,
               object_text(op) + ": the transaction clones and changes its omap more than " +
                   std::to_string(kMaxOmapLayers) + " times in turn",
               "Use several transactions."};
}

Status CloneOps::clone_range(const TransactionOp& op) {
  HEXAD_TRY_ASSIGN(const Slot* from, state_.existing_object(op));
  const std::shared_ptr<Content> source = from->current;
  if (op.offset > source->record.size || op.length > source->record.size - op.offset) {
    return Error{ErrorCode::kInvalidArgument,
                 object_text(op) + ": " + std::to_string(op.length) + " bytes at " +
                     std::to_string(op.offset) + " end behind its " +
                     std::to_string(source->record.size),
                 ""};
  }
  HEXAD_TRY_ASSIGN(Slot * to, state_.object(op.other_collection, op.other));
  Content* target = PlanState::writable(*to);
  if (op.length == 0) return {};
  HEXAD_TRY_ASSIGN(ExtentList shown, extents_for_clone(op, *source));
  HEXAD_TRY(punch_range(state_, *target, op.to_offset, op.length));
  for (Extent& extent : shown) {
    extent.offset = extent.offset - op.offset + op.to_offset;
    HEXAD_TRY(insert_cut(*target, extent));
  }
  target->record.size = std::max(target->record.size, op.to_offset + op.length);
  return check_inline(op, *target, *source);
}

Status CloneOps::load_for_clone(const TransactionOp& op, Content& source, std::uint32_t from,
                                std::uint32_t end) {
  HEXAD_TRY(state_.load_pages(source, from, end));
  const auto pages = static_cast<std::uint64_t>(
      std::distance(source.pages.lower_bound(from), source.pages.lower_bound(end)));
  if (pages <= kMaxClonedPages) return {};
  return Error{ErrorCode::kTooBig,
               object_text(op) + ": " + std::to_string(pages) + " MiB of it hold data, at most " +
                   std::to_string(kMaxClonedPages) + " can be cloned at once",
               "Clone it in ranges, in several transactions."};
}

Result<ExtentList> CloneOps::extents_for_clone(const TransactionOp& op, Content& source) {
  const std::uint64_t end = op.offset + op.length;
  const auto first = static_cast<std::uint32_t>(op.offset / kPageSpan);
  const auto behind = static_cast<std::uint32_t>(divide_up(end, kPageSpan));
  HEXAD_TRY(load_for_clone(op, source, first, behind));
  ExtentList shown;
  for (auto at = source.pages.lower_bound(first); at != source.pages.end() && at->first < behind;
       ++at) {
    state_.share(source, at->second, op.offset, end);
    for (const Extent& extent : at->second.now) {
      const std::uint64_t begin = std::max(extent.offset, op.offset);
      const std::uint64_t stop = std::min(extent.end(), end);
      if (begin < stop) shown.push_back(slice(extent, begin, stop - begin));
    }
  }
  return shown;
}

Status CloneOps::insert_cut(Content& content, const Extent& extent) {
  for (std::uint64_t at = extent.offset; at < extent.end();) {
    const std::uint64_t stop = std::min(extent.end(), round_down(at, kPageSpan) + kPageSpan);
    HEXAD_TRY_ASSIGN(Page * page, state_.page(content, static_cast<std::uint32_t>(at / kPageSpan)));
    insert(page->now, slice(extent, at, stop - at));
    page->dirty = true;
    at = stop;
  }
  return {};
}

Status CloneOps::check_inline(const TransactionOp& op, Content& target, Content& source) {
  for (auto at = target.pages.lower_bound(static_cast<std::uint32_t>(op.to_offset / kPageSpan));
       at != target.pages.end() && at->first * kPageSpan < op.to_offset + op.length; ++at) {
    if (inline_bytes(at->second.now) <= kPageInlineLimit) continue;
    const std::size_t noted = plan_.crowded.size();
    if (!context_.accept_crowded) {
      note_inline(target, at->first);
      const std::uint64_t begin = std::max(at->first * kPageSpan, op.to_offset);
      const std::uint64_t from = begin - op.to_offset + op.offset;
      const auto first = static_cast<std::uint32_t>(from / kPageSpan);
      for (const std::uint32_t page : {first, first + 1}) note_inline(source, page);
    }
    if (plan_.crowded.size() > noted) continue;
    return Error{ErrorCode::kTooBig,
                 object_text(op) + ": too many small pieces for the MiB at byte " +
                     std::to_string(at->first * kPageSpan) + " of the destination",
                 "Write larger pieces, or clone them in a transaction of their own."};
  }
  return {};
}

void CloneOps::note_inline(const Content& content, std::uint32_t index) {
  const auto page = content.pages.find(index);
  if (page == content.pages.end() || inline_bytes(page->second.before()) == 0) return;
  note_crowded(state_, content, index, plan_);
}

}  // namespace hexad::core
