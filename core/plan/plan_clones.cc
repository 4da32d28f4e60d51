#include "core/plan/plan_clones.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "core/plan/plan_data.h"
#include "core/plan/plan_result.h"
#include "core/record/keys.h"
#include "core/record/object_extents.h"

namespace hexad::core {

namespace {

// Copies that are asked for at once.
constexpr std::size_t kForeseen = 256;

std::uint64_t inline_bytes(const ExtentList& extents) {
  std::uint64_t bytes = 0;
  for (const Extent& extent : extents) bytes += extent.bytes.size();
  return bytes;
}

std::size_t extents_of(const ObjectContent& content) {
  std::size_t count = 0;
  for (const auto& [index, at] : content.pages) count += at.now().size();
  return count;
}

// Cut off, and no op has looked at it since.
bool is_hidden(const ObjectContent& content, std::uint32_t page) {
  return content.pages.count(page) == 0 && is_cut(content.record.cuts, page);
}

bool hides_any(const PageCuts& cuts, const PageRange& range) {
  return first_uncut(cuts, range) != range;
}

bool is_usable(const std::shared_ptr<CopiedPages>& copied, const ObjectContent& source,
               const ShiftedRange& range = {}) {
  return copied != nullptr && copied->from == source.stored_body && copied->range == range &&
         !copied->lost && copied->until == kEndOfPages && copied->stale.size() <= kFewStalePages;
}

Error too_many(const TransactionOp& op, const std::string& hint) {
  return Error{ErrorCode::kTooBig,
               object_text(op) + ": with it the clones of the transaction show more than " +
                   std::to_string(kMaxClonedPages) + " MiB that hold data",
               hint};
}

}  // namespace

Status CloneOps::clone(const TransactionOp& op, const PreparedOp& prepared, std::size_t index) {
  HEXAD_TRY_ASSIGN(Slot * from, state_.existing_object(op));
  HEXAD_TRY_ASSIGN(Slot * to, state_.object(op.other_collection, op.other));
  ObjectContent& source = *from->current;
  HEXAD_TRY_ASSIGN(const bool few, is_few(source));
  ObjectContent* copy = nullptr;
  if (few) {
    copy = page_by_page(source);
  } else if (source.stored_body == 0) {
    return too_many(op, "Clone what a transaction makes in another one.");
  } else {
    HEXAD_TRY_ASSIGN(copy, with_copy(op, source, prepared));
    if (copy == nullptr) {
      plan_.redo.push_back(Redo{index, 0, Inlining::kOfSmall, source.stored_body, {}});
      return {};
    }
  }
  HEXAD_TRY(freeze_omap(op, source));
  copy->record.omap = source.record.omap;
  copy->record.layers = source.record.layers;
  copy->changed = true;
  to->current = copy;
  return {};
}

Result<bool> CloneOps::is_few(ObjectContent& source) {
  // What only this transaction has can be copied nowhere else.
  const std::uint64_t limit = source.stored_body == 0 ? pages_left_ : context_.clones_at_once;
  HEXAD_TRY_ASSIGN(const bool few, load_for_clone(source, {0, kEndOfPages}, limit));
  return few && (source.stored_body == 0 || extents_of(source) <= kFewClonedExtents);
}

// One by one they would take an attempt each, of which there are not as many as a transaction may
// have ops, and each plans all that is before.
Status CloneOps::foresee(const std::vector<TransactionOp>& ops, const PreparedOps& prepared,
                         std::size_t index) {
  using Name = std::pair<std::string_view, std::string_view>;
  std::set<Name> changed;
  for (std::size_t i = index; i < ops.size() && plan_.redo.size() < kForeseen; ++i) {
    const TransactionOp& op = ops[i];
    if (is_guard(op.kind) || op.kind == OpKind::kRemoveAttr) continue;  // change no page
    if (op.kind != OpKind::kClone) return {};
    const bool as_it_was = changed.count({op.collection, op.name}) == 0;
    changed.insert({op.other_collection, op.other});
    if (i == index || !as_it_was) continue;
    const Result<Slot*> slot = state_.object(op.collection, op.name);
    if (!slot.ok() || (*slot)->current == nullptr) return {};  // it will say so itself
    ObjectContent& source = *(*slot)->current;
    if (source.stored_body == 0 || is_usable(prepared[i].copied, source)) continue;
    HEXAD_TRY_ASSIGN(const bool few, is_few(source));
    if (!few) plan_.redo.push_back(Redo{i, 0, Inlining::kOfSmall, source.stored_body, {}});
  }
  return {};
}

ObjectContent* CloneOps::page_by_page(ObjectContent& source) {
  ObjectContent* const copy = state_.new_content();
  copy->record = source.record;
  copy->record.body = 0;
  copy->record.cuts.clear();
  copy->all_pages = true;
  for (auto& [index, at] : source.pages) {
    if (at.now().empty()) continue;
    state_.share(source, at, 0, kMaxObjectSize + 1);
    copy->pages[index] = Page::made_of(at.now());
  }
  return copy;
}

// The copy was made of what the metadata had; pages that others have changed since, and those that
// ops of this transaction have, are put in place here.
Result<ObjectContent*> CloneOps::with_copy(const TransactionOp& op, ObjectContent& source,
                                           const PreparedOp& prepared) {
  const std::shared_ptr<CopiedPages>& copied = prepared.copied;
  if (!is_usable(copied, source)) return static_cast<ObjectContent*>(nullptr);
  ObjectContent* const copy = state_.new_content();
  copy->record = source.record;
  copy->record.body = copied->to;
  copy->stored_body = copied->to;
  copy->all_pages = false;
  std::set<std::uint32_t> differ;
  for (const std::uint32_t index : copied->stale) {
    if (!is_cut(source.record.cuts, index)) differ.insert(index);
  }
  for (const auto& [index, at] : source.pages) {
    if (at.is_dirty()) differ.insert(index);
  }
  if (differ.size() > pages_left_) return too_many(op, "Use several transactions.");
  pages_left_ -= differ.size();
  copy->record.cuts.clear();  // so that pages are loaded as they are
  for (const std::uint32_t index : differ) {
    HEXAD_TRY_ASSIGN(Page * ours, state_.page(*copy, index));
    HEXAD_TRY_ASSIGN(Page * theirs, state_.page(source, index));
    if (!theirs->now().empty()) state_.share(source, *theirs, 0, kMaxObjectSize + 1);
    ours->change() = theirs->now();
  }
  copy->record.cuts = source.record.cuts;
  plan_.record.images.push_back({writer_key(copied->to), std::nullopt});
  plan_.copies.push_back(copied);
  adopted_.push_back(copy);
  return copy;
}

Status CloneOps::freeze_omap(const TransactionOp& op, ObjectContent& source) {
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
    if (collection.has_value()) plan_.layered.push_back({*collection, std::string(slot.name)});
  }
  if (!plan_.layered.empty()) return {};
  return Error{ErrorCode::kTooBig,
               object_text(op) + ": the transaction clones and changes its omap more than " +
                   std::to_string(kMaxOmapLayers) + " times in turn",
               "Use several transactions."};
}

Status CloneOps::clone_range(const TransactionOp& op, const PreparedOp& prepared,
                             std::size_t index) {
  HEXAD_TRY_ASSIGN(const Slot* from, state_.existing_object(op));
  ObjectContent* const source = from->current;
  if (op.offset > source->record.size || op.length > source->record.size - op.offset) {
    return Error{ErrorCode::kInvalidArgument,
                 object_text(op) + ": " + std::to_string(op.length) + " bytes at " +
                     std::to_string(op.offset) + " end behind its " +
                     std::to_string(source->record.size),
                 ""};
  }
  HEXAD_TRY_ASSIGN(Slot * to, state_.object(op.other_collection, op.other));
  ObjectContent* target = state_.writable(*to);
  if (op.length == 0) return {};
  // What this transaction has made, or has cut off, can be copied nowhere else.
  const bool can_copy =
      source->stored_body != 0 && !(source->changed && !source->record.cuts.empty());
  const std::uint64_t limit =
      can_copy ? std::min(pages_left_, context_.ranges_at_once) : pages_left_;
  HEXAD_TRY_ASSIGN(const bool few, load_for_clone(*source, cloned_range(op).pages(), limit));
  if (!few && can_copy) return clone_long_range(op, *source, *to, prepared, index);
  if (!few) return too_long(op, *source);
  HEXAD_TRY_ASSIGN(ExtentList shown, extents_for_clone(op, *source));
  HEXAD_TRY(punch_range(state_, *target, op.to_offset, op.length));
  for (Extent& extent : shown) {
    extent.offset = extent.offset - op.offset + op.to_offset;
    HEXAD_TRY(insert_cut(*target, extent));
  }
  target->record.size = std::max(target->record.size, op.to_offset + op.length);
  return check_inline(op, *target, *source);
}

Result<bool> CloneOps::load_for_clone(ObjectContent& source, const PageRange& range,
                                      std::uint64_t limit) {
  // One page costs what the op does.
  const std::uint64_t most = std::min(limit, pages_left_) + 1;
  HEXAD_TRY_ASSIGN(const bool all, state_.load_some_pages(source, range, most));
  const auto pages = static_cast<std::uint64_t>(
      std::distance(source.pages.lower_bound(range.from), source.pages.lower_bound(range.end)));
  if (!all || pages > most) return false;
  pages_left_ -= pages > 0 ? pages - 1 : 0;
  return true;
}

// Of the range as much as this transaction can show page by page. All pages before that have been
// looked at, and there are more of them.
Error CloneOps::too_long(const TransactionOp& op, const ObjectContent& source) const {
  std::uint64_t left = std::min(pages_left_, context_.ranges_at_once) + 1;
  auto at = source.pages.lower_bound(cloned_range(op).pages().from);
  for (; left > 1; --left) ++at;
  const std::uint64_t fits = (at->first + 1) * kPageSpan - op.offset;
  return Error{
      ErrorCode::kTooBig,
      object_text(op) + ": of the " + std::to_string(op.length) + " bytes at " +
          std::to_string(op.offset) + " this transaction can show the first " +
          std::to_string(fits) + ", for with them its clones show " +
          std::to_string(kMaxClonedPages) +
          " MiB that hold data, and more can be had only of an object that is there before "
          "it, in one that shows less than that elsewhere",
      "Clone these " + std::to_string(fits) +
          " bytes with this transaction, and what is behind them with others, which may "
          "show as much each."};
}

Result<std::optional<std::set<std::uint32_t>>> CloneOps::pages_beside(ObjectContent& target,
                                                                      const ShiftedRange& range) {
  const PageRange whole = range.whole_pages();
  std::set<std::uint32_t> beside;
  for (const PageRange& part : {PageRange{0, whole.from}, PageRange{whole.end, kEndOfPages}}) {
    HEXAD_TRY_ASSIGN(const bool all, state_.load_some_pages(target, part, pages_left_ + 1));
    for (auto at = target.pages.lower_bound(part.from);
         at != target.pages.end() && at->first < part.end; ++at) {
      if (!at->second.now().empty()) beside.insert(at->first);
    }
    if (!all || beside.size() > pages_left_) return std::optional<std::set<std::uint32_t>>();
  }
  return std::optional(std::move(beside));
}

Status CloneOps::compose_page(ObjectContent& copy, std::uint32_t index, ObjectContent& source,
                              ObjectContent& target, const ShiftedRange& range) {
  HEXAD_TRY_ASSIGN(Page * ours, state_.page(copy, index));
  ExtentList now;
  const PageRange whole = range.whole_pages();
  const bool beside = index < whole.from || index >= whole.end;
  if (beside && !is_hidden(target, index)) {
    HEXAD_TRY_ASSIGN(Page * before, state_.page(target, index));
    if (!before->now().empty()) state_.share(target, *before, 0, kMaxObjectSize + 1);
    now = before->now();
    punch(now, range.to_offset, range.length);
  }
  const PageRange sources = range.sources_of(index);
  for (std::uint32_t page = sources.from; page < sources.end; ++page) {
    if (is_hidden(source, page)) continue;
    HEXAD_TRY_ASSIGN(Page * theirs, state_.page(source, page));
    if (!theirs->now().empty()) state_.share(source, *theirs, 0, kMaxObjectSize + 1);
    add_shifted(now, theirs->now(), range, index);
  }
  ours->change() = std::move(now);
  return {};
}

// The copy was made of what the metadata had, and the destination's body can be given up for it: so
// all that the destination shows besides the range, and what has changed since, is put in place
// here.
Status CloneOps::clone_long_range(const TransactionOp& op, ObjectContent& source, Slot& to,
                                  const PreparedOp& prepared, std::size_t index) {
  const ShiftedRange range = cloned_range(op);
  ObjectContent* const target = to.current;
  HEXAD_TRY_ASSIGN(const auto beside, pages_beside(*target, range));
  if (!beside.has_value()) return too_long(op, source);
  const std::shared_ptr<CopiedPages>& copied = prepared.copied;
  if (!is_usable(copied, source, range)) {
    plan_.redo.push_back(Redo{index, 0, Inlining::kOfSmall, source.stored_body, {}});
    return {};
  }
  // A copy from before a cut has the pages: they are no other ones, only hidden. It is told of them
  // when they are taken back. What is planned here has to wait for that.
  if (hides_any(source.record.cuts, range.pages())) plan_.cut.push_back(source.stored_body);
  std::set<std::uint32_t> differ = *beside;
  differ.insert(copied->stale.begin(), copied->stale.end());
  for (const auto& [page, at] : source.pages) {
    const PageRange shown = range.shown_by(page);
    for (std::uint32_t i = shown.from; at.is_dirty() && i < shown.end; ++i) differ.insert(i);
  }
  if (differ.size() > pages_left_) return too_many(op, "Use several transactions.");
  pages_left_ -= differ.size();
  ObjectContent* const copy = state_.new_content();
  copy->record = target->record;
  copy->record.body = copied->to;
  copy->record.cuts.clear();
  copy->stored_body = copied->to;
  copy->changed = true;
  for (const std::uint32_t page : differ) {
    HEXAD_TRY(compose_page(*copy, page, source, *target, range));
  }
  copy->record.size = std::max(copy->record.size, range.to_end());
  plan_.record.images.push_back({writer_key(copied->to), std::nullopt});
  plan_.copies.push_back(copied);
  adopted_.push_back(copy);
  to.current = copy;
  return check_inline(op, *copy, source);
}

Result<ExtentList> CloneOps::extents_for_clone(const TransactionOp& op, ObjectContent& source) {
  const std::uint64_t end = op.offset + op.length;
  const auto first = static_cast<std::uint32_t>(op.offset / kPageSpan);
  const auto behind = static_cast<std::uint32_t>(divide_up(end, kPageSpan));
  ExtentList shown;
  for (auto at = source.pages.lower_bound(first); at != source.pages.end() && at->first < behind;
       ++at) {
    state_.share(source, at->second, op.offset, end);
    for (const Extent& extent : at->second.now()) {
      const std::uint64_t begin = std::max(extent.offset, op.offset);
      const std::uint64_t stop = std::min(extent.end(), end);
      if (begin < stop) shown.push_back(slice(extent, begin, stop - begin));
    }
  }
  return shown;
}

Status CloneOps::insert_cut(ObjectContent& content, const Extent& extent) {
  for (std::uint64_t at = extent.offset; at < extent.end();) {
    const std::uint64_t stop = std::min(extent.end(), round_down(at, kPageSpan) + kPageSpan);
    HEXAD_TRY_ASSIGN(Page * page, state_.page(content, static_cast<std::uint32_t>(at / kPageSpan)));
    insert(page->change(), slice(extent, at, stop - at));
    at = stop;
  }
  return {};
}

Status CloneOps::check_inline(const TransactionOp& op, ObjectContent& target,
                              ObjectContent& source) {
  for (auto at = target.pages.lower_bound(static_cast<std::uint32_t>(op.to_offset / kPageSpan));
       at != target.pages.end() && at->first * kPageSpan < op.to_offset + op.length; ++at) {
    if (inline_bytes(at->second.now()) <= kPageInlineLimit) continue;
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

void CloneOps::note_inline(ObjectContent& content, std::uint32_t index) {
  const auto page = content.pages.find(index);
  if (page == content.pages.end() || inline_bytes(page->second.before()) == 0) return;
  note_crowded(state_, content, index, plan_);
}

}  // namespace hexad::core
