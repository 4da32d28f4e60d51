#include "core/plan/page.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/assert.h"
#include "core/record/object_extents.h"

namespace hexad::core {

namespace {

bool keeps_plain(const Blob& blob) { return blob.share == 0 && blob.forward == Forward::kNone; }

}  // namespace

Page::Page(ExtentList was) : now_(std::move(was)) {}

Page::Page(std::unique_ptr<KnownPage> remembered, ExtentList room)
    : memory_(std::make_unique<Memory>()) {
  now_ = std::move(remembered->extents);
  remembered->extents.clear();
  is_as_before_ = false;
  memory_->known = std::move(remembered);
  memory_->plain = memory_->known->plain;
  memory_->extents = now_.size();
  memory_->removed = std::move(room);
  ExtentOrigins& origins = memory_->origins;
  origins.reserve(now_.size() + 2);
  origins.assign(now_.size(), ExtentOrigin::fresh());
  std::size_t index = 0;
  for (ExtentOrigin& origin : origins) origin = ExtentOrigin::kept(index++);
}

Page Page::made_of(ExtentList now) {
  Page page;
  page.now_ = std::move(now);
  page.is_as_before_ = false;
  page.dirty_ = true;
  return page;
}

std::size_t Page::extents_before() const {
  if (is_tracked()) return memory_->extents;
  return is_as_before_ ? now_.size() : was_.size();
}

const ExtentList& Page::before() {
  if (is_tracked()) settle();
  return is_as_before_ ? now_ : was_;
}

ExtentList& Page::change() {
  settle();
  dirty_ = true;
  return now_;
}

void Page::clear() {
  dirty_ = true;
  if (is_as_before_) {
    was_ = std::move(now_);
    is_as_before_ = false;
  } else {
    settle();
  }
  now_.clear();
}

void Page::give_lists(PlanRoom& room) {
  room.give(std::move(was_));
  room.give(std::move(now_));
  if (memory_ != nullptr) room.give(std::move(memory_->removed));
}

ExtentList& Page::annotate() {
  settle();
  return now_;
}

void Page::overwrite(Extent extent) {
  dirty_ = true;
  if (!is_tracked()) {
    settle();
    core::overwrite(now_, std::move(extent));
    return;
  }
  Memory& memory = *memory_;
  if (!keeps_plain(extent.blob)) memory.plain = false;
  const std::size_t kept_before = memory.removed.size();
  const Overwritten done = core::overwrite(now_, std::move(extent), memory.removed);
  const auto first = memory.origins.begin() + static_cast<std::ptrdiff_t>(done.first);
  const auto behind = first + static_cast<std::ptrdiff_t>(done.covered);
  // What this transaction itself had put there was nothing before it.
  std::size_t kept = kept_before;
  for (std::size_t i = 0; i < done.covered; ++i) {
    const ExtentOrigin& origin = memory.origins[done.first + i];
    if (!origin.is_kept()) continue;
    if (kept != kept_before + i) {
      memory.removed[kept] = std::move(memory.removed[kept_before + i]);
    }
    memory.removed_at.push_back(static_cast<std::uint32_t>(origin.index()));
    ++kept;
  }
  memory.removed.resize(kept);
  ShortList<ExtentOrigin, 3> come;
  if (done.head) come.push_back(first->of_part());
  come.push_back(ExtentOrigin::fresh());
  if (done.tail) come.push_back((behind - 1)->of_part());
  const auto in_place = static_cast<std::ptrdiff_t>(std::min(done.covered, come.size()));
  std::copy(come.begin(), come.begin() + in_place, first);
  if (done.covered > come.size()) {
    memory.origins.erase(first + in_place, behind);
  } else {
    memory.origins.insert(first + in_place, come.begin() + in_place, come.end());
  }
}

void Page::replace_before(ExtentList before) {
  settle();
  was_ = std::move(before);
  newly_shared_ = true;
  memory_.reset();  // which has another list
}

void Page::forget_before() {
  if (is_tracked()) settle();
  is_as_before_ = false;
  was_.clear();
  memory_.reset();
}

ExtentList Page::list_before(Kept kept) {
  Memory& memory = *memory_;
  std::vector<std::size_t> order(memory.removed.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return memory.removed_at[a] < memory.removed_at[b];
  });
  ExtentList list;
  list.reserve(memory.extents);
  auto removed = order.begin();
  const auto add_removed = [&](std::size_t below) {
    for (; removed != order.end() && memory.removed_at[*removed] < below; ++removed) {
      list.push_back(std::move(memory.removed[*removed]));
    }
  };
  for (std::size_t i = 0; i < now_.size(); ++i) {
    const ExtentOrigin& origin = memory.origins[i];
    if (!origin.is_kept()) continue;
    add_removed(origin.index());
    if (kept == Kept::kMoved) {
      list.push_back(std::move(now_[i]));
    } else {
      list.push_back(now_[i]);
    }
  }
  add_removed(memory.extents);
  HEXAD_ASSERT(list.size() == memory.extents);  // PG1
  return list;
}

void Page::settle() {
  if (is_as_before_) {
    was_ = now_;
    is_as_before_ = false;
  }
  if (!is_tracked()) return;
  HEXAD_ASSERT(memory_->known != nullptr);
  was_ = list_before(Kept::kCopied);
  memory_->tracked = false;
  memory_->origins.clear();
  memory_->removed.clear();
  memory_->removed_at.clear();
}

bool Page::is_spliced() const { return dirty_ && is_tracked() && memory_->plain; }

Page::Splice Page::splice(const RecordShape& shape) {
  HEXAD_ASSERT(is_spliced());
  Memory& memory = *memory_;
  Splice splice;
  memory.emptied = std::move(memory.known);
  KnownPage* const known = memory.emptied.get();
  splice.page = splice_page(now_, memory.origins, shape, known->code);
  splice.value_before = std::move(known->code.value);
  for (std::size_t i = 0; i < memory.removed.size(); ++i) {
    const Extent& extent = memory.removed[i];
    if (extent.is_inline()) continue;
    std::uint32_t& number = splice.page.numbers[known->code.marks[memory.removed_at[i]].number];
    if (number != kNoNumber) continue;
    number = 0;  // once
    splice.released.push_back(&extent.blob);
  }
  std::sort(splice.released.begin(), splice.released.end(),
            [](const Blob* a, const Blob* b) { return a->id() < b->id(); });
  return splice;
}

PageCode Page::code(const RecordShape& shape) {
  settle();
  if (memory_ == nullptr) return code_page(now_, shape);
  memory_->known->extents = std::move(was_);
  PageCode code = code_page(now_, shape, *memory_->known);
  was_ = std::move(memory_->known->extents);
  return code;
}

void Page::set_code(PageCode code) {
  code_ = std::move(code);
  written_ = true;
}

std::unique_ptr<KnownPage> Page::hand_over() {
  HEXAD_ASSERT(written_);
  const bool plain = is_spliced() || is_plain(now_);
  std::unique_ptr<KnownPage> known;
  if (memory_ != nullptr) known = std::move(memory_->emptied);
  if (known == nullptr) known = std::make_unique<KnownPage>();
  known->plain = plain;
  known->extents = std::move(now_);
  known->code = std::move(code_);
  return known;
}

std::unique_ptr<KnownPage> Page::give_back() {
  if (memory_ == nullptr || memory_->known == nullptr) return nullptr;
  memory_->known->extents = is_tracked() ? list_before(Kept::kMoved) : std::move(was_);
  return std::move(memory_->known);
}

}  // namespace hexad::core
