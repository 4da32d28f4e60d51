// What readers of an index in LMDB read: maps of the file that never move, and the states in them.
// Inside the index; lmdb_index.h is what others include.
//
// LMDB has one map for each environment, and where the map grows it is unmapped and made again.
// Whoever reads through it would have to be gone first, and one who is not, and waits for something
// himself, would hang the whole store. So nobody reads through the map of the environment that
// writes. Readers have environments of their own, for reading only and without LMDB's locks; when
// the file has grown a new one is made for the states from then on, and the old one goes with its
// last reader. Growing waits for nobody.
//
//   Y1  a map is no longer than the file, up to the end of a page of memory; the file was allocated
//       and synced to that length before
//   Y2  a state begins in the thread that commits, after a commit and before the next one: the meta
//       page that it copies is whole, and lies still
//   Y3  as long as a state is read, an entry in the writer's table of readers, not newer than the
//       state, keeps its pages from being used again: its pin
//   Y4  a state is looked at by other threads only when LMDB has read the roots of its tables; from
//       then on LMDB only reads what belongs to the transaction, so any number of threads use it
//
// Why this may be done with LMDB 0.9, where its manual is stricter: doc/decisions/023.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "kv/index.h"
#include "kv/lmdb/lmdb_file.h"
#include "kv/lmdb/lmdb_state.h"
#include "kv/lmdb/lmdb_store.h"

struct MDB_env;
struct MDB_txn;

namespace hexad::kv {

// One map for reading.
class LmdbMap {
 public:
  // Of the first `size` bytes (Y1) of `file`, which is data.mdb in `dir`. No commit may be under
  // way. Errors: kNoSpace (the process may not have so much address space), kCorruption (another
  // file has taken its place; no index of ours), kIo.
  static Result<std::shared_ptr<const LmdbMap>> open(const std::string& dir, const LmdbFile& file,
                                                     std::uint64_t size);
  ~LmdbMap();
  LmdbMap(const LmdbMap&) = delete;
  LmdbMap& operator=(const LmdbMap&) = delete;

  MDB_env* env() const { return env_; }
  const LmdbTables& tables() const { return tables_; }
  const LmdbBounds& bounds() const { return bounds_; }
  std::uint64_t size() const { return size_; }            // bytes
  std::uint64_t page_size() const { return page_size_; }  // bytes

 private:
  LmdbMap() = default;
  Status open_tables(const std::string& what);

  MDB_env* env_ = nullptr;
  LmdbTables tables_;
  LmdbBounds bounds_;
  std::uint64_t size_ = 0;
  std::uint64_t page_size_ = 0;
};

// An entry in the table of readers of the environment that writes (Y3). Nothing is read through it.
class LmdbPin {
 public:
  // Of the newest state. The environment outlives it. Errors: kBusy (the table is full), kIo.
  static Result<std::shared_ptr<const LmdbPin>> make(MDB_env* writer);
  ~LmdbPin();
  LmdbPin(const LmdbPin&) = delete;
  LmdbPin& operator=(const LmdbPin&) = delete;

 private:
  LmdbPin() = default;
  MDB_txn* txn_ = nullptr;
};

// One committed state. Any number of threads (Y4).
class LmdbSnapshot {
 public:
  // The newest state (Y2). `pin`: null where nobody writes. `dir` is for messages.
  // Errors: kCorruption (no marker of ours, or a damaged one), kIo.
  static Result<std::shared_ptr<const LmdbSnapshot>> make(const std::string& dir,
                                                          std::shared_ptr<const LmdbMap> map,
                                                          std::shared_ptr<const LmdbPin> pin);
  ~LmdbSnapshot();
  LmdbSnapshot(const LmdbSnapshot&) = delete;
  LmdbSnapshot& operator=(const LmdbSnapshot&) = delete;

  const LmdbMap& map() const { return *map_; }
  const std::shared_ptr<const LmdbPin>& pin() const { return pin_; }
  MDB_txn* transaction() const { return txn_; }
  const LmdbState& state() const { return state_; }
  // All but the length of the file.
  Result<IndexStats> stats() const;
  // Pages that the state takes, and pages that transaction `id`, the last one, has taken from the
  // state before it: as many as it wrote are those, and what it takes more. Before other threads
  // have the state. Nothing: that cannot be told.
  std::optional<std::uint64_t> pages_used() const;
  std::optional<std::uint64_t> pages_replaced(std::uint64_t id) const;

 private:
  LmdbSnapshot(std::shared_ptr<const LmdbMap> map, std::shared_ptr<const LmdbPin> pin);
  Status begin(const std::string& dir);

  // In the order in which they may go.
  std::shared_ptr<const LmdbMap> map_;
  std::shared_ptr<const LmdbPin> pin_;
  MDB_txn* txn_ = nullptr;
  LmdbState state_;
  std::uint64_t last_page_ = 0;  // that was ever handed out
};

// Whether the process may map so many bytes more. Errors: kNoSpace, with what to do.
Status check_address_space(const std::string& dir, std::uint64_t bytes);

}  // namespace hexad::kv
