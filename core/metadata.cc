#include "core/metadata.h"

#include <algorithm>
#include <utility>

namespace hexad::core {

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
  {
    const io::Lock lock(mutex_);
    for (const kv::Memtable* table : {active_.get(), frozen_.get()}) {
      if (table == nullptr) continue;
      if (const auto found = table->get(key)) {
        if (!found->value.has_value()) return std::optional<std::string>();
        return std::optional<std::string>(*found->value);
      }
    }
  }
  // Without the lock, as in view(). What a checkpoint brings into the index meanwhile is newer.
  HEXAD_TRY_ASSIGN(const std::unique_ptr<kv::IndexReader> index, index_.snapshot());
  HEXAD_TRY_ASSIGN(const std::optional<std::string_view> value, index->get(key));
  if (!value.has_value()) return std::optional<std::string>();
  return std::optional<std::string>(*value);
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

Result<MetaView::Cursor> MetaView::cursor() {
  HEXAD_TRY_ASSIGN(std::unique_ptr<kv::IndexCursor> index, index_->cursor());
  return Cursor(*this, std::move(index));
}

MetaView::Cursor::Cursor(MetaView& view, std::unique_ptr<kv::IndexCursor> index)
    : view_(view), active_(view.active_->iterate(view.lsn_)), index_(std::move(index)) {
  if (view.frozen_ != nullptr) frozen_ = view.frozen_->iterate(view.lsn_);
}

void MetaView::Cursor::seek_memtables(std::string_view key) {
  generation_ = view_.metadata_.erase_generation_;
  active_.seek(key);
  if (frozen_.has_value()) frozen_->seek(key);
}

Status MetaView::Cursor::seek(std::string_view key) {
  valid_ = false;
  floor_.assign(key);
  HEXAD_TRY(index_->seek(key));
  {
    const io::Lock lock(view_.metadata_.mutex_);
    seek_memtables(key);
  }
  return settle();
}

Status MetaView::Cursor::next() {
  HEXAD_ASSERT(valid_);
  valid_ = false;
  return settle();
}

// Takes the smallest key of the three sources, the newest source winning, and moves every source
// that stands on that key; repeats over deleted keys. So the sources always stand behind key_.
Status MetaView::Cursor::settle() {
  for (;;) {
    bool live = false;
    bool move_index = false;
    {
      const io::Lock lock(view_.metadata_.mutex_);
      if (generation_ != view_.metadata_.erase_generation_) {
        // Versions were dropped under the iterators: find the place again.
        seek_memtables(floor_);
      }
      std::optional<std::string_view> least;
      if (active_.valid()) least = active_.key();
      if (frozen_.has_value() && frozen_->valid() && (!least || frozen_->key() < *least)) {
        least = frozen_->key();
      }
      if (index_->valid() && (!least || index_->key() < *least)) least = index_->key();
      if (!least.has_value()) return {};

      key_.assign(*least);
      floor_ = key_ + '\0';
      std::optional<std::string_view> value;
      bool decided = false;
      if (active_.valid() && active_.key() == key_) {
        value = active_.value();
        decided = true;
      }
      if (frozen_.has_value() && frozen_->valid() && frozen_->key() == key_) {
        if (!decided) value = frozen_->value();
        decided = true;
      }
      if (index_->valid() && index_->key() == key_) {
        if (!decided) value = index_->value();
        move_index = true;
      }
      live = value.has_value();
      if (live) value_.assign(*value);
      if (active_.valid() && active_.key() == key_) active_.next();
      if (frozen_.has_value() && frozen_->valid() && frozen_->key() == key_) frozen_->next();
    }
    if (move_index) HEXAD_TRY(index_->next());
    if (live) {
      valid_ = true;
      return {};
    }
  }
}

}  // namespace hexad::core
