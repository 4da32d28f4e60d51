#include "kv/lmdb/lmdb_store.h"

#include <lmdb.h>

#include <memory>
#include <utility>

#include "kv/index.h"
#include "kv/lmdb/lmdb_file.h"

namespace hexad::kv {
namespace {

constexpr std::size_t kPageHeader = 16;  // bytes before the data of an overflow page
constexpr std::size_t kNodeHeader = 8;   // bytes before the key of an entry

MDB_val to_val(std::string_view text) { return {text.size(), const_cast<char*>(text.data())}; }

std::string_view to_view(const MDB_val& value) {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

class LmdbShortCursor final : public ShortCursor {
 public:
  LmdbShortCursor(MDB_cursor* cursor, const LmdbBounds& bounds)
      : cursor_(cursor), bounds_(bounds) {}
  ~LmdbShortCursor() override { ::mdb_cursor_close(cursor_); }

  Status seek(std::string_view key) override {
    past_end_ = true;  // where a failed search stands
    return move(key.empty() ? MDB_FIRST : MDB_SET_RANGE, key);
  }
  Status seek_to_last() override { return move(MDB_LAST); }
  Status next() override {
    past_end_ = true;
    bounds_.prefetch_from({key_, value_}, Direction::kForward);
    return move(MDB_NEXT);
  }
  Status prev() override {
    if (valid_) {
      past_end_ = false;
      return move(MDB_PREV);
    }
    return past_end_ ? move(MDB_LAST) : Status();
  }
  Result<std::size_t> advance(Direction direction, std::span<KeyValue> into) override {
    const bool forward = direction == Direction::kForward;
    past_end_ = forward;
    std::size_t count = 0;
    Status status;
    while (count < into.size()) {
      status = move(forward ? MDB_NEXT : MDB_PREV);
      if (!valid_) break;
      into[count] = {key_, value_};
      bounds_.prefetch_from(into[count], direction);
      ++count;
      if (key_.size() > kInlineKey) break;
    }
    if (valid_) return count;
    if (count == 0 && !status.ok()) return status.error();
    // The end, or damage, is for the next call to find.
    if (count > 0) HEXAD_TRY(seek(into[count - 1].key));
    return count;
  }

 private:
  Status move(MDB_cursor_op op, std::string_view wanted = {}) {
    MDB_val key = to_val(wanted);
    MDB_val value{};
    const int code = ::mdb_cursor_get(cursor_, &key, &value, op);
    valid_ = false;
    if (code == MDB_NOTFOUND) return {};
    if (code != 0) return lmdb_error(code, "index: cannot step");
    key_ = to_view(key);
    value_ = to_view(value);
    if (!bounds_.plausible(key_) || !bounds_.plausible(value_)) {
      return lmdb_damage("index: an entry lies outside its page");
    }
    valid_ = true;
    return {};
  }

  MDB_cursor* cursor_;
  const LmdbBounds& bounds_;
  bool past_end_ = false;
};

}  // namespace

Error lmdb_error(int code, const std::string& what) {
  if (code > 0) return system_error(code, what);
  Error error{ErrorCode::kIo, what + ": " + ::mdb_strerror(code), ""};
  switch (code) {
    case MDB_MAP_FULL:
      error.code = ErrorCode::kNoSpace;
      break;
    case MDB_READERS_FULL:
      error.code = ErrorCode::kBusy;
      error.hint = "end some of the readers";
      break;
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_INVALID:
    case MDB_VERSION_MISMATCH:
    case MDB_INCOMPATIBLE:
    case MDB_BAD_TXN:  // of reading: another thread has met the damage
    case MDB_CURSOR_FULL:
    case MDB_NOTFOUND:
      error.code = ErrorCode::kCorruption;
      error.hint = "the index is a copy: drop its directory and let it be built again";
      break;
    default:
      break;
  }
  return error;
}

Error lmdb_damage(std::string what) {
  return Error{ErrorCode::kCorruption, std::move(what),
               "the index is a copy: drop its directory and let it be built again"};
}

bool LmdbBounds::fits_overflow(std::uint64_t at, std::uint64_t size) const {
  return at == kPageHeader && size <= kMaxIndexValue + kMaxIndexKey && size < file_size_;
}

// The page's header and its table of entries are not among this: entry by entry they are read from
// one end to the other, which the processor notices by itself.
void LmdbBounds::prefetch_from(const KeyValue& entry, Direction direction) const {
  constexpr std::uint64_t kLine = 64;
  if (page_size_ == 0) return;
  const auto key = reinterpret_cast<std::uintptr_t>(entry.key.data());
  const auto value_end = reinterpret_cast<std::uintptr_t>(entry.value.data()) + entry.value.size();
  // Behind its key, unless it lies in overflow pages.
  const bool beside = value_end - key < page_size_;
  const std::uintptr_t end = beside ? value_end : key + entry.key.size();
  const std::uintptr_t from = (key - kNodeHeader) & ~(kLine - 1);
  const std::uintptr_t by = direction == Direction::kForward ? page_size_ : -page_size_;
  for (std::uintptr_t at = from; at < end; at += kLine) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a hint; it may lie outside of the map
    __builtin_prefetch(reinterpret_cast<const char*>(at + by));
  }
}

Result<std::optional<std::string_view>> lmdb_get(MDB_txn* txn, unsigned database,
                                                 std::string_view key, const LmdbBounds& bounds) {
  if (key.empty()) return std::optional<std::string_view>{};
  MDB_val wanted = to_val(key);
  MDB_val found{};
  const int code = ::mdb_get(txn, database, &wanted, &found);
  if (code == MDB_NOTFOUND) return std::optional<std::string_view>{};
  if (code != 0) return lmdb_error(code, "index: cannot read");
  if (!bounds.plausible(to_view(found)))
    return lmdb_damage("index: an entry lies outside its page");
  return std::optional<std::string_view>(to_view(found));
}

int lmdb_put(MDB_txn* txn, unsigned database, std::string_view key, std::string_view value) {
  MDB_val where = to_val(key);
  MDB_val what = to_val(value);
  return ::mdb_put(txn, database, &where, &what, 0);
}

Result<std::optional<std::string_view>> LmdbStore::get(ShortTable table, std::string_view key) {
  return lmdb_get(txn_, handle(table), key, bounds_);
}

Result<std::unique_ptr<ShortCursor>> LmdbStore::cursor(ShortTable table) {
  MDB_cursor* cursor = nullptr;
  if (const int code = ::mdb_cursor_open(txn_, handle(table), &cursor); code != 0) {
    return lmdb_error(code, "index: cannot open a cursor");
  }
  return std::unique_ptr<ShortCursor>(std::make_unique<LmdbShortCursor>(cursor, bounds_));
}

LmdbStore::~LmdbStore() {
  for (MDB_cursor* const cursor : writers_) {
    if (cursor != nullptr) ::mdb_cursor_close(cursor);
  }
}

int LmdbStore::writer(ShortTable table, MDB_cursor*& cursor) {
  MDB_cursor*& kept = writers_[table == ShortTable::kTop ? 0 : 1];
  const int code = kept != nullptr ? 0 : ::mdb_cursor_open(txn_, handle(table), &kept);
  cursor = kept;
  return code;
}

// One search, also where there is something to be replaced, which has to leave the prints.
Status LmdbStore::put(ShortTable table, std::string_view key, std::string_view value) {
  HEXAD_ASSERT(state_ != nullptr);
  MDB_cursor* cursor = nullptr;
  int code = writer(table, cursor);
  if (code != 0) return noted(code);
  MDB_val where = to_val(key);
  MDB_val what = to_val(value);
  code = ::mdb_cursor_put(cursor, &where, &what, MDB_NOOVERWRITE);
  if (code == MDB_KEYEXIST) {
    const std::uint64_t old = print(table, key, to_view(what));
    where = to_val(key);
    what = to_val(value);
    code = ::mdb_cursor_put(cursor, &where, &what, MDB_CURRENT);
    if (code == 0) state_->prints -= old;
  }
  if (code == 0) state_->prints += print(table, key, value);
  return noted(code);
}

Status LmdbStore::erase(ShortTable table, std::string_view key) {
  HEXAD_ASSERT(state_ != nullptr);
  MDB_cursor* cursor = nullptr;
  int code = writer(table, cursor);
  if (code != 0) return noted(code);
  MDB_val where = to_val(key);
  MDB_val what{};
  code = ::mdb_cursor_get(cursor, &where, &what, MDB_SET);
  if (code == MDB_NOTFOUND) return {};
  if (code != 0) return noted(code);
  const std::uint64_t old = print(table, key, to_view(what));
  code = ::mdb_cursor_del(cursor, 0);
  if (code == 0) state_->prints -= old;
  return noted(code);
}

Result<std::uint64_t> LmdbStore::new_segment() {
  HEXAD_ASSERT(state_ != nullptr);
  return state_->next_segment++;
}

Status LmdbStore::noted(int code) {
  if (code == 0) return {};
  write_code_ = code;
  return lmdb_error(code, "index: cannot write");
}

}  // namespace hexad::kv
