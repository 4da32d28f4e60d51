#include "core/metadata/metadata.h"

#include <algorithm>
#include <utility>

#include "core/record/keys.h"

namespace hexad::core {

namespace {

constexpr std::size_t kMostSettled = 1024;  // keys
constexpr std::size_t kWarmedAtOnce = 64;   // keys looked up for one lock, or read together
constexpr std::size_t kThawedAtOnce = 256;  // keys that unfreeze() moves for one lock

bool is_remembered(std::string_view key) { return key.starts_with(kCollectionKeys); }

}  // namespace

void Metadata::apply(Lsn lsn, std::string_view key, std::optional<std::string_view> value,
                     Changes what) {
  {
    const io::Lock lock(mutex_);
    active_->apply(lsn, key, value);
    if (thawing_) frozen_->apply(lsn, key, value);
    if (is_remembered(key)) active_has_collections_ = true;
  }
  // Afterwards: who looks the key up in between finds the version in the memtable (N1).
  if (cache_ == nullptr) return;
  if (what == Changes::kPlaces) {
    cache_->note_moved(key);
  } else {
    cache_->invalidate(key);
  }
}

void Metadata::erase_after(Lsn lsn) {
  const io::Lock lock(mutex_);
  active_->erase_after(lsn);
  if (thawing_) frozen_->erase_after(lsn);
  ++erase_generation_;
}

const Metadata::Settled* Metadata::settled(std::string_view key) const {
  if (!is_remembered(key)) return nullptr;
  const auto known = settled_.find(key);
  return known == settled_.end() ? nullptr : &known->second;
}

void Metadata::note_settled(std::string_view key, std::uint64_t drops,
                            std::optional<std::string_view> value) {
  if (!is_remembered(key)) return;
  Settled noted;
  if (value.has_value()) {
    noted.value = *value;
    Result<CollectionRecord> decoded = decode_collection(*value);
    if (decoded.ok()) {
      noted.record = std::make_shared<const CollectionRecord>(std::move(decoded).value());
    }
  }
  const io::Lock lock(mutex_);
  if (drops_ != drops) return;
  // It may be what the frozen one has brought into the index, which views from before do not see.
  if (frozen_ != nullptr && frozen_->get(key).has_value()) return;
  if (settled_.size() >= kMostSettled) settled_.clear();
  settled_.insert_or_assign(std::string(key), std::move(noted));
}

std::optional<std::optional<std::string_view>> Metadata::without_index(std::string_view key,
                                                                       std::string& room) const {
  using Value = std::optional<std::string_view>;
  for (const kv::Memtable* table : {active_.get(), frozen_.get()}) {
    if (table == nullptr) continue;
    const auto found = table->get(key);
    if (!found.has_value()) continue;
    if (!found->value.has_value()) return Value();
    room = *found->value;
    return Value(room);
  }
  const Settled* const known = settled(key);
  if (known == nullptr) return {};
  if (!known->value.has_value()) return Value();
  room = *known->value;
  return Value(room);
}

bool Metadata::has_without_index(std::string_view key) const {
  for (const kv::Memtable* table : {active_.get(), frozen_.get()}) {
    if (table != nullptr && table->get(key).has_value()) return true;
  }
  return settled(key) != nullptr;
}

Result<std::optional<std::string>> Metadata::get_latest(std::string_view key) {
  std::uint64_t drops = 0;
  {
    const io::Lock lock(mutex_);
    std::string room;
    if (const auto known = without_index(key, room)) {
      if (!known->has_value()) return std::optional<std::string>();
      return std::optional<std::string>(std::move(room));
    }
    drops = drops_;
  }
  // Without the lock, as in view(). What a checkpoint brings into the index meanwhile is newer.
  HEXAD_TRY_ASSIGN(const std::unique_ptr<kv::IndexReader> index, index_.snapshot());
  HEXAD_TRY_ASSIGN(const std::optional<std::string_view> found, index->get(key));
  std::optional<std::string> value;
  if (found.has_value()) value = *found;
  note_settled(key, drops, value);
  return value;
}

Status Metadata::warm(std::span<const std::string> keys, WarmKeys& warm) {
  std::vector<std::string_view> missing;
  for (std::size_t i = 0; i < keys.size();) {
    const io::Lock lock(mutex_);
    if (warm.drops_ != drops_) {
      warm.drops_ = drops_;
      warm.values_.clear();
      missing.clear();
      i = 0;
    }
    for (const std::size_t end = std::min(keys.size(), i + kWarmedAtOnce); i < end; ++i) {
      const std::string& key = keys[i];
      if (!warm.values_.contains(key) && !has_without_index(key)) missing.push_back(key);
    }
  }
  if (missing.empty()) return {};
  // A drop that comes before the snapshot makes what is read of no use, and does no harm.
  HEXAD_TRY_ASSIGN(const std::unique_ptr<kv::IndexReader> index, index_.snapshot());
  const auto note = [&warm](std::string_view key, std::optional<std::string_view> found) {
    std::optional<std::string>& value = warm.values_[std::string(key)];
    if (found.has_value()) value = *found;
  };
  std::vector<std::string_view> to_read;
  for (const std::string_view key : missing) {
    HEXAD_TRY_ASSIGN(const kv::IndexReader::Peeked found, index->peek(key));
    if (found.known) {
      note(key, found.value);
    } else {
      to_read.push_back(key);
    }
  }
  // So few that they are still there when they are asked for.
  for (std::size_t i = 0; i < to_read.size(); i += kWarmedAtOnce) {
    const std::span<const std::string_view> some =
        std::span(to_read).subspan(i, std::min(kWarmedAtOnce, to_read.size() - i));
    index->read_ahead(some);
    for (const std::string_view key : some) {
      HEXAD_TRY_ASSIGN(const std::optional<std::string_view> found, index->get(key));
      note(key, found);
    }
  }
  return {};
}

Result<Metadata::Peeked> Metadata::peek_latest(std::string_view key, const WarmKeys& warm) {
  IndexHold hold;
  std::string room;
  HEXAD_TRY_ASSIGN(const PeekedBytes found, peek_latest(key, warm, hold, room));
  Peeked peeked{found.known, std::nullopt};
  if (found.value.has_value()) peeked.value = std::move(room);
  return peeked;
}

Result<Metadata::PeekedBytes> Metadata::peek_latest(std::string_view key, const WarmKeys& warm,
                                                    IndexHold& hold, std::string& room) {
  std::uint64_t drops = 0;
  {
    const io::Lock lock(mutex_);
    if (const auto known = without_index(key, room)) return PeekedBytes{true, *known};
    drops = drops_;
    const auto read = warm.drops_ == drops_ ? warm.values_.find(key) : warm.values_.end();
    if (read != warm.values_.end()) {
      if (!read->second.has_value()) return PeekedBytes{true, std::nullopt};
      room = *read->second;
      return PeekedBytes{true, room};
    }
  }
  // What a dropped memtable has brought into the index an older state does not show.
  if (hold.index_ == nullptr || hold.drops_ != drops || hold.looks_ == kMostLooks) {
    hold.let_go();
    HEXAD_TRY_ASSIGN(hold.index_, index_.snapshot());
    hold.drops_ = drops;
    hold.looks_ = 0;
  }
  ++hold.looks_;
  HEXAD_TRY_ASSIGN(const kv::IndexReader::Peeked found, hold.index_->peek(key));
  PeekedBytes peeked{found.known, std::nullopt};
  if (!peeked.known) return peeked;
  if (found.value.has_value()) {
    room = *found.value;
    peeked.value = room;
  }
  note_settled(key, drops, peeked.value);
  return peeked;
}

// What patch_base() speaks of.
std::optional<std::string_view> Metadata::young_value(std::string_view key) const {
  const auto found = active_->get(key);
  // unfreeze() leaves older ones among the active.
  if (!found.has_value() || found->lsn <= frozen_lsn_) return {};
  return found->value;
}

std::optional<std::string> Metadata::patch_base(std::string_view key) {
  const io::Lock lock(mutex_);
  const std::optional<std::string_view> young = young_value(key);
  if (!young.has_value()) return {};
  return std::string(*young);
}

bool Metadata::is_patch_base(std::string_view key, std::string_view value) {
  const io::Lock lock(mutex_);
  return young_value(key) == value;
}

Result<std::unique_ptr<MetaView>> Metadata::view(Lsn at) {
  // The index's snapshot is taken without the lock, which commits need: it looks at a file. So it
  // is tried until no checkpoint has begun or ended meanwhile: the index may then be ahead of the
  // memtables by what the frozen one shadows, and by nothing else.
  for (;;) {
    std::unique_ptr<MetaView> view(new MetaView(*this, at));
    {
      const io::Lock lock(mutex_);
      view->active_ = active_;
      view->frozen_ = frozen_;
      view->drops_ = drops_;
      view->tables_ = tables_.load();
      // Where the index may be ahead of `at`, so is the view: keys that have not changed since
      // `at` would else come from one state and the others from the index's.
      view->lsn_ = std::max(at, frozen_lsn_);
    }
    HEXAD_TRY_ASSIGN(view->index_, index_.snapshot());
    // Without the lock: a checkpoint changes the tables before it changes the index, so whoever has
    // a snapshot with something of it finds them changed.
    if (view->tables_ == tables_.load()) return view;
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
  frozen_has_collections_ = std::exchange(active_has_collections_, false);
  note_tables();
  return frozen_;
}

void Metadata::drop_frozen() {
  const io::Lock lock(mutex_);
  std::erase_if(settled_, [this](const auto& known) HEXAD_REQUIRES(mutex_) {
    return frozen_->get(known.first).has_value();
  });
  frozen_.reset();
  frozen_has_collections_ = false;
  note_tables();
  ++drops_;
}

// Until the end both tables are there, and the active one is asked first: what the other one has of
// its versions already is the same.
void Metadata::unfreeze() {
  {
    const io::Lock lock(mutex_);
    frozen_->thaw();
    thawing_ = true;
  }
  std::string from;
  for (bool more = true; more;) {
    const io::Lock lock(mutex_);
    kv::Memtable::Iterator it = active_->iterate();
    it.seek(from);
    for (std::size_t keys = 0; keys < kThawedAtOnce && it.valid(); ++keys) {
      from.assign(it.key());
      from.push_back('\0');
      do {
        frozen_->apply(it.lsn(), it.key(), it.value());
      } while (it.older());
      it.next();
    }
    more = it.valid();
    if (more) continue;
    thawing_ = false;
    active_ = std::move(frozen_);
    frozen_.reset();
    if (std::exchange(frozen_has_collections_, false)) active_has_collections_ = true;
    note_tables();
    ++erase_generation_;
  }
}

std::optional<std::optional<std::string_view>> MetaView::in_memtables(std::string_view key,
                                                                      bool* newest)
    HEXAD_REQUIRES(metadata_.mutex_) {
  const std::optional<kv::Memtable::Found> latest = active_->get(key);
  // Without a freeze() since the view was made, only the active table has versions above it.
  const bool visible = !latest.has_value() || latest->lsn <= lsn_;
  if (newest != nullptr) *newest = active_ == metadata_.active_ && visible;
  if (latest.has_value()) {
    const auto found = visible ? latest : active_->get(key, lsn_);
    if (found.has_value()) return found->value;
  }
  if (frozen_ == nullptr) return {};
  const auto found = frozen_->get(key, lsn_);
  if (!found.has_value()) return {};
  return found->value;
}

std::optional<std::optional<std::string_view>> MetaView::ask_memtables(std::string_view key,
                                                                       bool* newest)
    HEXAD_REQUIRES(metadata_.mutex_) {
  Metadata::Tally& tally = metadata_.tally_;
  const bool timed = (tally.hits + tally.misses) % Metadata::kTimedOneOf == 0;
  const io::Nanos began = timed ? metadata_.clock_.now() : 0;
  const auto found = in_memtables(key, newest);
  ++(found.has_value() ? tally.hits : tally.misses);
  if (timed && found.has_value()) {
    ++tally.timed;
    tally.nanos += metadata_.clock_.now() - began;
  }
  return found;
}

Metadata::Tally Metadata::tally() {
  const io::Lock lock(mutex_);
  return tally_;
}

Result<std::optional<std::string>> MetaView::get(std::string_view key, bool* newest) {
  std::optional<std::string> value;
  {
    const io::Lock lock(metadata_.mutex_);
    const Metadata::Settled* const known =
        metadata_.drops_ == drops_ ? metadata_.settled(key) : nullptr;
    const auto young = known == nullptr ? ask_memtables(key, newest) : in_memtables(key, newest);
    if (young.has_value()) {
      if (young->has_value()) value = **young;
      return value;
    }
    if (known != nullptr) return known->value;
  }
  HEXAD_TRY_ASSIGN(const std::optional<std::string_view> found, index_->get(key));
  if (found.has_value()) value = *found;
  metadata_.note_settled(key, drops_, found);
  return value;
}

Result<std::optional<std::string_view>> MetaView::look_up(std::string_view key, bool* newest) {
  {
    const io::Lock lock(metadata_.mutex_);
    // The tables keep the bytes of a version that is visible, and the view the tables.
    if (const auto young = ask_memtables(key, newest)) return *young;
  }
  return index_->get(key);
}

Result<std::shared_ptr<const CollectionRecord>> MetaView::collection(std::string_view name,
                                                                     bool* newest) {
  const LookupKey key = LookupKey::collection(name);
  {
    const io::Lock lock(metadata_.mutex_);
    if (metadata_.tables_.load(std::memory_order_relaxed) == tables_) {
      const Metadata::Settled* const known = metadata_.collection_in_no_table(key);
      if (known != nullptr && known->value.has_value() == (known->record != nullptr)) {
        if (newest != nullptr) *newest = true;
        return known->record;
      }
    }
    if (!in_memtables(key, newest).has_value() && metadata_.drops_ == drops_) {
      const Metadata::Settled* const known = metadata_.settled(key);
      if (known != nullptr && known->value.has_value() == (known->record != nullptr)) {
        return known->record;
      }
    }
  }
  HEXAD_TRY_ASSIGN(const auto value, get(key, newest));
  if (!value.has_value()) return std::shared_ptr<const CollectionRecord>();
  HEXAD_TRY_ASSIGN(CollectionRecord record, decode_collection(*value));
  return std::make_shared<const CollectionRecord>(std::move(record));
}

Result<MetaView::Cursor> MetaView::cursor(KeyRange range, Reading reading) {
  HEXAD_TRY_ASSIGN(std::unique_ptr<kv::IndexCursor> index,
                   reading == Reading::kMemory ? index_->memory_cursor() : index_->cursor());
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
      tables_(
          view.active_->iterate(view.lsn_),
          view.frozen_ == nullptr ? std::nullopt : std::optional(view.frozen_->iterate(view.lsn_)),
          view.metadata_.erase_generation_),
      index_(std::move(index)) {}

bool MetaView::Cursor::inside(std::string_view key) const {
  return forward_ ? !range_.end.has_value() || key < *range_.end : key >= range_.first;
}

void MetaView::Cursor::begin(std::string_view from) {
  from_.assign(from);  // first: it may be a view of the key that the cursor stands on
  ready_ = {};
  at_ = 0;
  tables_.begin();
  young_.restart();
  old_.restart();
  old_.end();
  ++moves_.seeks;
}

Status MetaView::Cursor::seek(std::string_view key) {
  forward_ = true;
  begin(std::max(key, std::string_view(range_.first)));
  if (!inside(from_)) return {};
  return begin_index(index_->seek(from_));
}

Status MetaView::Cursor::seek_before(std::string_view key) {
  forward_ = false;
  begin(range_.end.has_value() ? std::min(key, std::string_view(*range_.end)) : key);
  if (from_ <= range_.first) return {};
  return begin_index(index_->seek_before(from_));
}

// The first entry alone: many a walk ends there.
Status MetaView::Cursor::begin_index(Status sought) {
  HEXAD_TRY(std::move(sought));
  if (index_->valid()) {
    old_.restart();
    old_.start_with({index_->key(), index_->value()});
    old_.keep(insides());
  }
  return fill();
}

// Where nothing is ready behind the key, or no more to be relied on.
Status MetaView::Cursor::step_on() {
  if (!stale()) return fill();
  return forward_ ? seek(std::string(key()) + '\0') : seek_before(key());
}

// Makes the next keys ready, at least one if there is one.
Status MetaView::Cursor::fill() {
  ready_ = {};
  at_ = 0;
  merged_.clear();
  while (merged_.empty()) {
    if (gave_up()) {
      return Error{ErrorCode::kUnavailable,
                   "a walk over the metadata has met " + std::to_string(moves_.deleted) +
                       " keys that were deleted since the last checkpoint",
                   "Write a checkpoint first."};
    }
    if (young_.wants_more()) load_young();
    if (old_.wants_more()) HEXAD_TRY(load_old());
    if (young_.empty()) {
      ready_ = old_.take_rest();
      moves_.steps += ready_.empty() ? 0 : 1;
      return {};
    }
    merge();
  }
  ready_ = merged_;
  ++moves_.steps;
  return {};
}

// Takes the nearest key of the memtables and of the index, the memtables winning, until either has
// to be read on. Ends before a tombstone if it can: those that the walk has passed are counted.
void MetaView::Cursor::merge() {
  for (; !young_.empty(); young_.pop()) {
    const kv::Memtable::Seen& young = young_.front();
    int index_order = 1;
    while (!old_.empty()) {
      index_order = order_of(direction(), old_.front().key, young.key);
      if (index_order >= 0) break;
      merged_.push_back(old_.front());
      old_.pop();
    }
    if (old_.wants_more()) return;
    if (young.value.has_value()) {
      merged_.push_back({young.key, *young.value});
    } else {
      if (!merged_.empty()) return;
      ++moves_.steps;
      ++moves_.deleted;
    }
    tables_.pass(young.key);
    if (!old_.empty() && index_order == 0) old_.pop();  // hidden
  }
}

Status MetaView::Cursor::load_old() {
  std::vector<kv::KeyValue>& entries = old_.refill(1);
  entries.resize(old_.most());
  Result<std::size_t> found = index_->advance(direction(), entries);
  entries.resize(found.ok() ? *found : 0);
  if (entries.empty()) old_.end();
  old_.keep(insides());
  return found.status();
}

// For one lock; some at once, so that the first key comes soon.
void MetaView::Cursor::load_young() {
  constexpr std::size_t kFirst = 4;
  std::vector<kv::Memtable::Seen>& keys = young_.refill(kFirst);
  keys.clear();
  const io::Lock lock(view_.metadata_.mutex_);
  tables_.place(direction(), from_);
  if (kv::Memtable::Iterator* const only = tables_.only_one()) {
    keys.resize(young_.most());
    keys.resize(only->take(direction(), keys));
    young_.keep(insides());
    return;
  }
  while (keys.size() < young_.most()) {
    const kv::Memtable::Iterator* const nearest = tables_.nearest(direction());
    if (nearest == nullptr || !inside(nearest->key())) {
      young_.end();
      return;
    }
    keys.push_back({nearest->key(), nearest->value()});
    tables_.leave(direction(), keys.back().key);
  }
}

}  // namespace hexad::core
