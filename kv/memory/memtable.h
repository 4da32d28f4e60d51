// What has been committed since the last checkpoint: an ordered map from key to its versions,
// newest first. A version is a value or a tombstone. Entries lie in an arena, in a doubly linked
// list, and are found through a B+tree that only grows (kv/memory/memtable_tree.h).
//
// Not thread-safe by itself. Any number of threads may read at once while nobody writes: the owner
// holds its io::Mutex, or a shared lock, around calls and around the use of the views that they
// return. A frozen memtable never changes again and is read without a lock.
//
// Views stay valid until erase_after() drops that version or the memtable goes; apply() moves
// nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "kv/walk.h"

namespace hexad::kv {

struct MemtableVersion;  // kv/memory/memtable.cc
struct MemtableEntry;
class MemtableTree;

class Memtable {
 public:
  struct Found {
    Lsn lsn = 0;
    std::optional<std::string_view> value;  // nothing: deleted
  };

  Memtable();
  ~Memtable();
  Memtable(const Memtable&) = delete;
  Memtable& operator=(const Memtable&) = delete;

  // Records that `key` has `value` (or is deleted) from `lsn` on. The same key and LSN again
  // replaces. Asserts that the table is not frozen. Cost: one descent and one copy; a version that
  // is not the newest of its key walks past the newer ones.
  void apply(Lsn lsn, std::string_view key, std::optional<std::string_view> value);

  // The newest version at or below `at`; nothing when the memtable knows none.
  std::optional<Found> get(std::string_view key, Lsn at = kMaxLsn) const;

  // A key and its version.
  struct Seen {
    std::string_view key;
    std::optional<std::string_view> value;  // nothing: deleted
  };

  // Walks the keys in bytewise order, each with its newest version at or below the iterator's LSN,
  // tombstones included; keys without such a version are skipped. Insertions by others do not
  // disturb it; erase_after() ends it. Cost: a seek is one descent, a step one entry of the list in
  // either direction, keys that are skipped included.
  class Iterator {
   public:
    bool valid() const { return entry_ != nullptr; }
    // Preconditions: valid().
    std::string_view key() const;
    Lsn lsn() const;
    std::optional<std::string_view> value() const;
    void next();
    void prev();
    // Notes this key and the ones behind it that way, at least one and at most into.size(), and
    // stands on the one behind them; returns how many. May stop early. Does what so many steps do,
    // but a step waits for the memory of one entry, and here that of many is fetched at once.
    std::size_t take(Direction direction, std::span<Seen> into);
    // Steps to the next older version of the same key; false, and no step, when there is none.
    bool older();

    void seek(std::string_view key);         // the first key >= `key`
    void seek_before(std::string_view key);  // the last key < `key`
    void seek_to_first();
    void seek_to_last();

   private:
    friend class Memtable;
    Iterator(const Memtable& table, Lsn at) : table_(&table), at_(at) {}
    void settle(const MemtableEntry* entry, Direction direction);

    const Memtable* table_;
    Lsn at_;
    const MemtableEntry* entry_ = nullptr;
    const MemtableVersion* version_ = nullptr;
  };
  // Not positioned; seek first.
  Iterator iterate(Lsn at = kMaxLsn) const { return Iterator(*this, at); }

  // Drops every version above `lsn`: a group that was cut (R12). Cost: one pass over all keys.
  void erase_after(Lsn lsn);

  // No apply() and erase_after() from here on, until it thaws. Precondition of that: nobody reads
  // it without a lock any more.
  void freeze() { frozen_ = true; }
  void thaw() { frozen_ = false; }
  bool frozen() const { return frozen_; }

  bool empty() const { return versions_ == 0; }
  std::uint64_t keys() const { return keys_; }
  std::uint64_t versions() const { return versions_; }
  // Memory taken, bytes; what was replaced or erased still counts until the memtable goes.
  std::uint64_t bytes() const;
  Lsn max_lsn() const { return max_lsn_; }  // 0: empty

  // The order, the counts, and versions newest first; for tests. Cost: everything.
  void check_invariants() const;

 private:
  std::unique_ptr<MemtableTree> tree_;
  std::uint64_t keys_ = 0;
  std::uint64_t versions_ = 0;
  Lsn max_lsn_ = 0;
  bool frozen_ = false;
};

}  // namespace hexad::kv
