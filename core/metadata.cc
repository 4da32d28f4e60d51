#include "core/metadata.h"

#include <algorithm>
#include <utility>

#include "core/keys.h"

namespace hexad::core {

namespace {

constexpr std::size_t kMostSettled = 1024;  // keys

}  // namespace

void Metadata::apply(Lsn lsn, std::string_view key, std::optional<std::string_view> value) {
  {
    const io::Lock lock(mutex_);
    active_->apply(lsn, key, value);
  }
  // Afterwards: who looks the key up in between finds the version in the memtable (N1).
  if (cache_ != nullptr) cache_->invalidate(key);
}

void Metadata::erase_after(Lsn lsn) {
  const io::Lock lock(mutex_);
  active_->erase_after(lsn);
  ++erase_generation_;
}

Result<std::optional<std::string>> Metadata::get_latest(std::string_view key) {
  const bool remembered = key.substr(0, kCollectionKeys.size()) == kCollectionKeys;
  std::uint64_t drops = 0;
  {
    const io::Lock lock(mutex_);
    for (const kv::Memtable* table : {active_.get(), frozen_.get()}) {
      if (table == nullptr) continue;
      if (const auto found = table->get(key)) {
        if (!found->value.has_value()) return std::optional<std::string>();
        return std::optional<std::string>(*found->value);
      }
    }
    drops = drops_;
    if (remembered) {
      if (const auto known = settled_.find(key); known != settled_.end()) return known->second;
    }
  }
  // Without the lock, as in view(). What a checkpoint brings into the index meanwhile is newer.
  HEXAD_TRY_ASSIGN(const std::unique_ptr<kv::IndexReader> index, index_.snapshot());
  HEXAD_TRY_ASSIGN(const std::optional<std::string_view> found, index->get(key));
  std::optional<std::string> value;
  if (found.has_value()) value = *found;
  if (remembered) {
    const io::Lock lock(mutex_);
    if (drops_ == drops) {
      if (settled_.size() >= kMostSettled) settled_.clear();
      settled_.insert_or_assign(std::string(key), value);
    }
  }
  return value;
}

std::optional<std::string> Metadata::patch_base(std::string_view key) {
  const io::Lock lock(mutex_);
  const auto found = active_->get(key);
  // unfreeze() leaves older ones among the active.
  if (!found.has_value() || !found->value.has_value() || found->lsn <= frozen_lsn_) return {};
  return std::string(*found->value);
}

Result<std::unique_ptr<MetaView>> Metadata::view(Lsn at) {
  // The index's snapshot is taken without the lock: it may have to wait until the index has grown,
  // which waits for the readers there are, and those need the lock. So it is tried until no
  // checkpoint has begun or ended meanwhile: the index may then be ahead of the memtables by what
  // the frozen one shadows, and by nothing else.
  for (;;) {
    std::unique_ptr<MetaView> view(new MetaView(*this, at));
    {
      const io::Lock lock(mutex_);
      view->active_ = active_;
      view->frozen_ = frozen_;
      // Where the index may be ahead of `at`, so is the view: keys that have not changed since
      // `at` would else come from one state and the others from the index's.
      view->lsn_ = std::max(at, frozen_lsn_);
    }
    HEXAD_TRY_ASSIGN(view->index_, index_.snapshot());
    const io::Lock lock(mutex_);
    if (view->active_ == active_ && view->frozen_ == frozen_) return view;
  }
}

std::uint64_t Metadata::memtable_bytes() {
  const io::Lock lock(mutex_);
  return active_->bytes() + (frozen_ == nullptr ? 0 : frozen_->bytes());
}

std::shared_ptr<const kv::Memtable> Metadata::freeze(Lsn lsn) {
  const io::Lock lock(mutex_);
  HEXAD_ASSERT(frozen_ == nullptr && lsn >= frozen_lsn_);
  frozen_lsn_ = lsn;
  frozen_ = std::move(active_);
  frozen_->freeze();
  active_ = std::make_shared<kv::Memtable>();
  return frozen_;
}

void Metadata::drop_frozen() {
  const io::Lock lock(mutex_);
  frozen_.reset();
  settled_.clear();
  ++drops_;
}

void Metadata::unfreeze() {
  const io::Lock lock(mutex_);
  // Frozen versions are all older than active ones, so a merged table keeps the order of LSNs.
  auto merged = std::make_shared<kv::Memtable>();
  for (const auto& table : {frozen_, active_}) {
    kv::Memtable::Iterator it = table->iterate();
    for (it.seek_to_first(); it.valid(); it.next()) {
      do {
        merged->apply(it.lsn(), it.key(), it.value());
      } while (it.older());
    }
  }
  active_ = std::move(merged);
  frozen_.reset();
  ++erase_generation_;
}

Result<std::optional<std::string>> MetaView::get(std::string_view key, bool* newest) {
  {
    const io::Lock lock(metadata_.mutex_);
    if (newest != nullptr) {
      // Without a freeze() since the view was made, only the active table has versions above it.
      const auto latest = active_->get(key);
      *newest = active_ == metadata_.active_ && (!latest.has_value() || latest->lsn <= lsn_);
    }
    for (const kv::Memtable* table : {active_.get(), frozen_.get()}) {
      if (table == nullptr) continue;
      if (const auto found = table->get(key, lsn_)) {
        if (!found->value.has_value()) return std::optional<std::string>();
        return std::optional<std::string>(*found->value);
      }
    }
  }
  HEXAD_TRY_ASSIGN(const std::optional<std::string_view> value, index_->get(key));
  if (!value.has_value()) return std::optional<std::string>();
  return std::optional<std::string>(*value);
}

Result<MetaView::Cursor> MetaView::cursor(KeyRange range) {
  HEXAD_TRY_ASSIGN(std::unique_ptr<kv::IndexCursor> index, index_->cursor());
  return Cursor(*this, std::move(range), std::move(index));
}

Result<MetaView::Cursor> MetaView::cursor_over(std::string_view prefix) {
  HEXAD_TRY_ASSIGN(Cursor found, cursor({std::string(prefix), prefix_end(prefix)}));
  HEXAD_TRY(found.seek(prefix));
  return found;
}

MetaView::Cursor::Cursor(MetaView& view, KeyRange range, std::unique_ptr<kv::IndexCursor> index)
    : view_(view),
      range_(std::move(range)),
      active_(view.active_->iterate(view.lsn_)),
      index_(std::move(index)) {
  if (view.frozen_ != nullptr) frozen_ = view.frozen_->iterate(view.lsn_);
}

bool MetaView::Cursor::inside(std::string_view key) const {
  return forward_ ? !range_.end.has_value() || key < *range_.end : key >= range_.first;
}

void MetaView::Cursor::begin(std::string_view from) {
  valid_ = false;
  index_on_key_ = false;
  from_.assign(from);
  passed_.reset();
  forget_young();
  ++moves_.seeks;
}

void MetaView::Cursor::forget_young() {
  placed_ = false;
  young_.clear();
  young_at_ = 0;
  young_ends_ = false;
}

Status MetaView::Cursor::seek(std::string_view key) {
  forward_ = true;
  begin(std::max(key, std::string_view(range_.first)));
  if (!inside(from_)) return {};
  HEXAD_TRY(index_->seek(from_));
  return settle();
}

Status MetaView::Cursor::seek_before(std::string_view key) {
  forward_ = false;
  begin(range_.end.has_value() ? std::min(key, std::string_view(*range_.end)) : key);
  if (from_ <= range_.first) return {};
  HEXAD_TRY(index_->seek_before(from_));
  return settle();
}

Status MetaView::Cursor::next() {
  HEXAD_ASSERT(valid_);
  return forward_ ? step() : seek(std::string(key_) + '\0');
}

Status MetaView::Cursor::prev() {
  HEXAD_ASSERT(valid_);
  return forward_ ? seek_before(key_) : step();
}

Status MetaView::Cursor::step() {
  valid_ = false;
  if (index_on_key_) {
    index_on_key_ = false;
    HEXAD_TRY(step_index());
  }
  return settle();
}

Status MetaView::Cursor::step_index() { return forward_ ? index_->next() : index_->prev(); }

// Merges: takes the nearest key of the memtables and of the index, the memtables winning, until it
// has one that exists.
Status MetaView::Cursor::settle() {
  for (;;) {
    // After versions were dropped what was read ahead may be one of them.
    if (placed_ && generation_ != view_.metadata_.erase_generation_) forget_young();
    if (young_at_ == young_.size() && !young_ends_) load_young();
    const bool young_there = young_at_ < young_.size();
    const bool index_there = index_->valid() && inside(index_->key());
    if (!young_there && !index_there) return {};
    ++moves_.steps;
    if (!young_there || (index_there && before(index_->key(), young_[young_at_].key))) {
      key_ = index_->key();
      value_ = index_->value();
      index_on_key_ = true;
      valid_ = true;
      return {};
    }
    const Young& young = young_[young_at_++];
    passed_ = young.key;
    const bool both = index_there && index_->key() == young.key;
    if (young.value.has_value()) {
      key_ = young.key;
      value_ = *young.value;
      index_on_key_ = both;
      valid_ = true;
      return {};
    }
    ++moves_.deleted;
    if (both) HEXAD_TRY(step_index());
  }
}

// Reads ahead in the memtables, for one lock: more each time, so that the first key comes soon.
void MetaView::Cursor::load_young() {
  constexpr std::size_t kFirst = 4;
  constexpr std::size_t kMost = 64;
  const std::size_t wanted = std::clamp(2 * young_.size(), kFirst, kMost);
  young_.clear();
  young_at_ = 0;
  const io::Lock lock(view_.metadata_.mutex_);
  if (!placed_ || generation_ != view_.metadata_.erase_generation_) place_iterators();
  while (young_.size() < wanted) {
    const kv::Memtable::Iterator* const nearest = nearest_young();
    if (nearest == nullptr || !inside(nearest->key())) {
      young_ends_ = true;
      return;
    }
    young_.push_back({nearest->key(), nearest->value()});
    leave(young_.back().key);
  }
}

void MetaView::Cursor::place_iterators() {
  placed_ = true;
  generation_ = view_.metadata_.erase_generation_;
  const std::string_view from = passed_.value_or(from_);
  for (kv::Memtable::Iterator* it : {&active_, frozen_.has_value() ? &*frozen_ : nullptr}) {
    if (it == nullptr) continue;
    if (forward_) {
      it->seek(from);
    } else {
      it->seek_before(from);
    }
  }
  if (passed_.has_value()) leave(*passed_);
}

// The iterator with the nearest key, of two with the same key the newer; null at the end of both.
const kv::Memtable::Iterator* MetaView::Cursor::nearest_young() const {
  const kv::Memtable::Iterator* const active = active_.valid() ? &active_ : nullptr;
  if (!frozen_.has_value() || !frozen_->valid()) return active;
  if (active == nullptr || before(frozen_->key(), active->key())) return &*frozen_;
  return active;
}

// Steps off the key, where the iterators stand on it.
void MetaView::Cursor::leave(std::string_view key) {
  for (kv::Memtable::Iterator* it : {&active_, frozen_.has_value() ? &*frozen_ : nullptr}) {
    if (it == nullptr || !it->valid() || it->key() != key) continue;
    if (forward_) {
      it->next();
    } else {
      it->prev();
    }
  }
}

}  // namespace hexad::core
