// The metadata as one ordered map with versions: the memtable of changes since the last
// checkpoint, the frozen one that a running checkpoint is writing out, and the index below.
//
// Any thread. Changes that are not visible yet stand in the memtable under LSNs above the visible
// one; a view at that does not see them, the sequencer (get_latest) does.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/error.h"
#include "base/ids.h"
#include "core/cache/read_cache.h"
#include "core/metadata/memtable_walk.h"
#include "core/metadata/read_ahead.h"
#include "core/record/record.h"
#include "io/executor.h"
#include "kv/index.h"
#include "kv/memory/memtable.h"
#include "kv/walk.h"

namespace hexad::core {

class Metadata;

struct KeyRange {
  std::string first;
  std::optional<std::string> end;  // exclusive; nothing: to the last key
};

// What a cursor has done so far.
struct CursorMoves {
  std::uint64_t seeks = 0;
  std::uint64_t steps = 0;    // keys looked at, deleted ones included
  std::uint64_t deleted = 0;  // of these, the ones with a tombstone
};

// One consistent state: everything up to an LSN. As long as it is there the index keeps the pages
// of its state, and grows. One thread at a time.
class MetaView {
 public:
  Lsn lsn() const { return lsn_; }
  // The value, or nothing. `newest`, when given, says whether the state of now has no version of
  // the key above lsn(), pending ones included: N2 (b) of core/cache/read_cache.h.
  Result<std::optional<std::string>> get(std::string_view key, bool* newest = nullptr);

  // The same without a copy: the bytes stay for as long as the view does. Keys of collections are
  // asked of the index, whatever is remembered of them: collection() is for those.
  Result<std::optional<std::string_view>> look_up(std::string_view key, bool* newest = nullptr);
  // The record of the collection, decoded once for as long as it is remembered; null: there is no
  // collection of that name. Errors: those of get() and of decode_collection().
  Result<std::shared_ptr<const CollectionRecord>> collection(std::string_view name,
                                                             bool* newest = nullptr);

  // Walks the keys of a range that exist, both ways. After an error it is not valid.
  //
  // Cost: a seek is a descent of each layer, and so is turning round; a step is a step of the
  // layers that stand on the key. A walk reads ahead, at most as many keys as it has passed since
  // it was last sought, and 64 of each layer; so short walks are short. What is deleted and still
  // has a tombstone in a memtable is stepped over one by one, together with what the tombstone
  // hides in the index: nothing else is there to say where the next key that exists lies. That is
  // bounded by what was deleted since the last checkpoint inside the range; a checkpoint takes both
  // away. Keys outside of the range are never stepped over.
  class Cursor {
   public:
    Status seek(std::string_view key);         // the first key >= `key`
    Status seek_before(std::string_view key);  // the last key < `key`
    // Precondition: valid().
    Status next() { return forward_ ? step() : seek(std::string(key()) + '\0'); }
    Status prev() { return forward_ ? seek_before(key()) : step(); }
    bool valid() const { return at_ < ready_.size(); }
    // Until the next step. Precondition: valid().
    std::string_view key() const { return ready_[at_].key; }
    std::string_view value() const { return ready_[at_].value; }
    const CursorMoves& moves() const { return moves_; }
    // Before the first seek: a walk that meets so many deleted keys ends with kUnavailable, and has
    // gave_up() to tell that from other errors. What helps is a checkpoint.
    void give_up_after(std::uint64_t deleted) { most_deleted_ = deleted; }
    bool gave_up() const { return moves_.deleted >= most_deleted_; }

   private:
    friend class MetaView;

    Cursor(MetaView& view, KeyRange range, std::unique_ptr<kv::IndexCursor> index);
    void begin(std::string_view from);
    Status begin_index(Status sought);
    Status step() {
      HEXAD_ASSERT(valid());
      if (at_ + 1 == ready_.size() || stale()) return step_on();
      ++at_;
      ++moves_.steps;
      return {};
    }
    Status step_on();
    Status fill();
    void merge();
    bool stale() const { return tables_.stale(); }
    Status load_old();
    void load_young();
    auto insides() const {
      return [this](std::string_view key) { return inside(key); };
    }
    kv::Direction direction() const {
      return forward_ ? kv::Direction::kForward : kv::Direction::kBackward;
    }
    bool inside(std::string_view key) const;

    MetaView& view_;
    KeyRange range_;
    MemtableWalk tables_;
    std::unique_ptr<kv::IndexCursor> index_;
    bool forward_ = true;
    std::string from_;  // where the last seek began
    // The next keys of the memtables. These keep the bytes for as long as the view has them.
    ReadAhead<kv::Memtable::Seen> young_;
    // The next entries of the index. It stands on the last one, or behind the range.
    ReadAhead<kv::KeyValue> old_;
    // The next keys that exist, of the two lists; of old_ itself where the memtables have no more.
    std::vector<kv::KeyValue> merged_;
    std::span<const kv::KeyValue> ready_;
    std::size_t at_ = 0;  // where the cursor stands
    CursorMoves moves_;
    std::uint64_t most_deleted_ = ~std::uint64_t{0};
  };
  // Over the keys of `range`; not positioned, seek first. kMemory: where a device would have to be
  // read, the error is kUnavailable.
  enum class Reading : std::uint8_t { kAnything, kMemory };
  Result<Cursor> cursor(KeyRange range = {}, Reading reading = Reading::kAnything);
  // Over the keys that begin with `prefix`; stands on the first of them.
  Result<Cursor> cursor_over(std::string_view prefix);

 private:
  friend class Metadata;
  MetaView(Metadata& metadata, Lsn lsn) : metadata_(metadata), lsn_(lsn) {}

  // Under the lock of the metadata, as the definition says: what the memtables say, as
  // Metadata::without_index() does.
  std::optional<std::optional<std::string_view>> in_memtables(std::string_view key, bool* newest);
  // The same, and it counts.
  std::optional<std::optional<std::string_view>> ask_memtables(std::string_view key, bool* newest);

  Metadata& metadata_;
  Lsn lsn_;
  std::uint64_t drops_ = 0;   // of the metadata, when the view was made
  std::uint64_t tables_ = 0;  // likewise
  std::shared_ptr<kv::Memtable> active_;
  std::shared_ptr<kv::Memtable> frozen_;  // may be null
  std::unique_ptr<kv::IndexReader> index_;
};

// What the index has for keys, read before somebody asks who may not wait for a device.
class WarmKeys {
 public:
  std::size_t size() const { return values_.size(); }

 private:
  friend class Metadata;
  std::uint64_t drops_ = 0;  // when they were read: as for what is settled
  std::map<std::string, std::optional<std::string>, std::less<>> values_;
};

// A state of the index in which a thread looks keys up one after the other. Holds a reader, of
// which a thread has one at a time (K10): let it go before another is made, and soon, for it pins
// pages.
class IndexHold {
 public:
  void let_go() { index_.reset(); }

 private:
  friend class Metadata;
  std::unique_ptr<kv::IndexReader> index_;
  std::uint64_t drops_ = 0;  // before it was made
  int looks_ = 0;
};

class Metadata {
 public:
  // Both outlive it.
  Metadata(io::Executor& executor, kv::Index& index)
      : clock_(executor.clock()),
        mutex_(executor),
        index_(index),
        active_(std::make_shared<kv::Memtable>()) {}

  // One of so many look-ups in the memtables is timed.
  static constexpr std::uint64_t kTimedOneOf = 64;
  // Look-ups of keys by views, since it was made: what the memtables had, and what the index was
  // asked for. Neither: keys of collections that are remembered, and what walks step on.
  struct Tally {
    std::uint64_t hits = 0;  // tombstones, too
    std::uint64_t misses = 0;
    std::uint64_t timed = 0;  // of the hits
    io::Nanos nanos = 0;      // how long the timed ones took
  };
  Tally tally();

  // Tells this cache of every key that is applied from now on (N1 of core/cache/read_cache.h).
  // Before other threads; it outlives the last apply().
  void set_cache(ReadCache* cache) { cache_ = cache; }

  // `what`: kPlaces: what the key shows stays, byte for byte, and lies elsewhere (N8).
  enum class Changes : std::uint8_t { kAnything, kPlaces };
  void apply(Lsn lsn, std::string_view key, std::optional<std::string_view> value,
             Changes what = Changes::kAnything);
  // Drops what was applied above `lsn`: commits that were cut.
  void erase_after(Lsn lsn);
  // The newest value, durable or not.
  // Cost: a look-up in the memtables, and in the index if they do not have the key; collections are
  // remembered.
  Result<std::optional<std::string>> get_latest(std::string_view key);
  // Whether get_latest() may wait for devices of the pool, just now.
  bool reads_devices() const { return index_.reads_devices(); }
  // Reads what get_latest() of the keys would read in the index, all of it at once, into `warm`.
  // What was there is kept unless it is out of date. Errors: those of the index.
  Status warm(std::span<const std::string> keys, WarmKeys& warm);
  // As get_latest(), and waits for no device.
  struct Peeked {
    bool known = true;  // false: it would have to, since `warm` does not have the key (any more)
    std::optional<std::string> value;
  };
  Result<Peeked> peek_latest(std::string_view key, const WarmKeys& warm);
  // The same for many keys in turn. The value stands in `room`. What `hold` has is used as long as
  // no memtable has been dropped since, and for so many look-ups.
  static constexpr int kMostLooks = 64;
  struct PeekedBytes {
    bool known = true;
    std::optional<std::string_view> value;
  };
  Result<PeekedBytes> peek_latest(std::string_view key, const WarmKeys& warm, IndexHold& hold,
                                  std::string& room);
  // The newest value if it was applied after the last freeze(), and so stands in the log wherever a
  // later change of the key does: what a patch may change (core/record/image_patch.h). Else
  // nothing.
  //   C8  a value is written as a patch only of one whose LSN is above that of every checkpoint
  //       begun so far; a checkpoint begins when all LSNs up to its own are decided
  std::optional<std::string> patch_base(std::string_view key);
  // At `at`, or at the LSN of the last freeze() where that is later.
  Result<std::unique_ptr<MetaView>> view(Lsn at);
  // Bytes of memory in the memtables.
  std::uint64_t memtable_bytes();

  // Starts a checkpoint: the memtable so far becomes the frozen one, which nobody changes. `lsn`:
  // of the last change in it, durable. Precondition: none is frozen.
  std::shared_ptr<const kv::Memtable> freeze(Lsn lsn);
  // The index holds what the frozen memtable held.
  void drop_frozen();
  // The checkpoint failed: what is frozen stays readable; the next freeze() must not come before
  // Whether it would return this.
  bool is_patch_base(std::string_view key, std::string_view value);
  // this. Brings newer changes on top of the frozen ones, slice by slice: nobody waits for all of
  // them.
  void unfreeze();

 private:
  friend class MetaView;
  friend class MetaView::Cursor;

  // What there is to say of the newest value without the index: the outer one is
  // nothing when that has to be asked. The bytes stand in `room`.
  std::optional<std::optional<std::string_view>> without_index(std::string_view key,
                                                               std::string& room) const
      HEXAD_REQUIRES(mutex_);
  bool has_without_index(std::string_view key) const HEXAD_REQUIRES(mutex_);
  struct Settled {
    std::optional<std::string> value;
    // Of a value that can be decoded.
    std::shared_ptr<const CollectionRecord> record;
  };
  // Null: not known, or not a key that is remembered.
  const Settled* settled(std::string_view key) const HEXAD_REQUIRES(mutex_);
  std::optional<std::string_view> young_value(std::string_view key) const HEXAD_REQUIRES(mutex_);
  // What the index had for the key when so many memtables had been dropped.
  void note_settled(std::string_view key, std::uint64_t drops,
                    std::optional<std::string_view> value);

  // What a view of these tables knows of a collection without asking them, since they have no key
  // of one; null: ask them.
  const Settled* collection_in_no_table(std::string_view key) const HEXAD_REQUIRES(mutex_) {
    return active_has_collections_ || frozen_has_collections_ ? nullptr : settled(key);
  }
  void note_tables() HEXAD_REQUIRES(mutex_) { tables_.fetch_add(1); }

  io::Clock& clock_;
  io::Mutex mutex_;  // the memtables; never held across I/O of a device
  kv::Index& index_;
  ReadCache* cache_ = nullptr;
  std::shared_ptr<kv::Memtable> active_ HEXAD_GUARDED_BY(mutex_);
  std::shared_ptr<kv::Memtable> frozen_ HEXAD_GUARDED_BY(mutex_);
  // Whether a key of a collection has been applied to it, cut since or not.
  bool active_has_collections_ HEXAD_GUARDED_BY(mutex_) = false;
  bool frozen_has_collections_ HEXAD_GUARDED_BY(mutex_) = false;
  // Counts how often one of the two became another one; changes under the lock.
  std::atomic<std::uint64_t> tables_{0};
  // unfreeze() is under way: the frozen one gets all that the active one gets.
  bool thawing_ HEXAD_GUARDED_BY(mutex_) = false;
  // Of the last freeze(): the index may hold changes up to here.
  Lsn frozen_lsn_ HEXAD_GUARDED_BY(mutex_) = 0;
  // What the index has for keys of collections: every commit and every read asks for some.
  //   C13  it is what the index has since the last drop of a frozen memtable. The index changes
  //       in no keys but those of the frozen one, which goes first, so all of it holds until that
  //       is dropped, and what the frozen one does not have holds on. Nothing that was read before
  //       a drop is noted after it, and nobody whose view is from before it is told what is noted
  //       now. Of keys of the frozen one nothing is noted: the index may have them already, and a
  //       view from before the freeze() must not
  std::map<std::string, Settled, std::less<>> settled_ HEXAD_GUARDED_BY(mutex_);
  std::uint64_t drops_ HEXAD_GUARDED_BY(mutex_) = 0;  // of frozen memtables
  Tally tally_ HEXAD_GUARDED_BY(mutex_);
  // Counts what ends iterators of memtables; changes under the lock.
  std::atomic<std::uint64_t> erase_generation_{0};
};

}  // namespace hexad::core
