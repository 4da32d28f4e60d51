// One LMDB transaction as the two tables of short keys that long_key.h works on. Inside the index.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "kv/lmdb/lmdb_state.h"
#include "kv/lmdb/long_key.h"
#include "kv/walk.h"

struct MDB_cursor;
struct MDB_txn;

namespace hexad::kv {

// Handles of the tables; valid in every transaction of the environment.
struct LmdbTables {
  unsigned state = 0;
  unsigned keys = 0;
  unsigned segments = 0;
};

// LMDB hands out what its pages say. A value lies inside one page, or begins right behind the
// header of an overflow page; anything else is a damaged page and is not stepped into. Pages that a
// writing transaction has changed lie elsewhere in memory, so there is no such rule for writers.
class LmdbBounds {
 public:
  LmdbBounds() = default;  // for writers: everything is plausible
  LmdbBounds(std::uint64_t page_size, std::uint64_t file_size)
      : page_size_(page_size), file_size_(file_size) {}
  bool plausible(std::string_view value) const {
    const std::uint64_t at = reinterpret_cast<std::uintptr_t>(value.data()) & (page_size_ - 1);
    return at + value.size() <= page_size_ || page_size_ == 0 || fits_overflow(at, value.size());
  }
  // What a walk will read one page from here, if things were put in order: pages then follow each
  // other, and are alike. Only a hint to the processor.
  void prefetch_from(const KeyValue& entry, Direction direction) const;

 private:
  bool fits_overflow(std::uint64_t at, std::uint64_t size) const;

  std::uint64_t page_size_ = 0;  // bytes, a power of two; 0: not checked
  std::uint64_t file_size_ = 0;  // bytes
};

// What a return code of LMDB means to a caller; positive codes are errno values.
Error lmdb_error(int code, const std::string& what);
// kCorruption, with what to do.
Error lmdb_damage(std::string what);

Result<std::optional<std::string_view>> lmdb_get(MDB_txn* txn, unsigned database,
                                                 std::string_view key, const LmdbBounds& bounds);
// LMDB's return code.
int lmdb_put(MDB_txn* txn, unsigned database, std::string_view key, std::string_view value);

// Ends before its transaction does.
class LmdbStore final : public ShortKeyStore {
 public:
  // Borrows everything. `state`: its segments and prints follow what is written; null when only
  // reading.
  LmdbStore(MDB_txn* transaction, const LmdbTables& tables, const LmdbBounds& bounds,
            LmdbState* state)
      : txn_(transaction), tables_(tables), bounds_(bounds), state_(state) {}
  ~LmdbStore() override;
  LmdbStore(const LmdbStore&) = delete;
  LmdbStore& operator=(const LmdbStore&) = delete;

  Result<std::optional<std::string_view>> get(ShortTable table, std::string_view key) override;
  Result<std::unique_ptr<ShortCursor>> cursor(ShortTable table) override;
  Status put(ShortTable table, std::string_view key, std::string_view value) override;
  Status erase(ShortTable table, std::string_view key) override;
  Result<std::uint64_t> new_segment() override;

  // LMDB's own code for the last failed write, 0 if none: some are not the end.
  int write_code() const { return write_code_; }

 private:
  unsigned handle(ShortTable table) const {
    return table == ShortTable::kTop ? tables_.keys : tables_.segments;
  }
  Status noted(int code);
  // One for each table, opened by its first write: it finds its way from where it stands.
  int writer(ShortTable table, MDB_cursor*& cursor);
  std::uint64_t print(ShortTable table, std::string_view key, std::string_view stored) const {
    return lmdb_print(table == ShortTable::kTop ? LmdbTable::kKeys : LmdbTable::kSegments, key,
                      stored);
  }

  MDB_txn* txn_;
  const LmdbTables& tables_;
  const LmdbBounds& bounds_;
  LmdbState* state_;
  MDB_cursor* writers_[2] = {};
  int write_code_ = 0;
};

}  // namespace hexad::kv
