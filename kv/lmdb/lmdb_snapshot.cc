#include "kv/lmdb/lmdb_snapshot.h"

#include <lmdb.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/units.h"

namespace hexad::kv {

namespace {

Error no_address_space(const std::string& dir, std::uint64_t bytes) {
  return Error{ErrorCode::kNoSpace,
               "index: " + dir + ": the process may not map " + format_size(bytes) +
                   " more of address space",
               "raise its limit (ulimit -v), or the number of its maps (sysctl vm.max_map_count)"};
}

}  // namespace

Status check_address_space(const std::string& dir, std::uint64_t bytes) {
  void* const probe =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (probe == MAP_FAILED) return no_address_space(dir, bytes);
  ::munmap(probe, bytes);
  return {};
}

// --- LmdbMap -------------------------------------------------------------------------------------

Result<std::shared_ptr<const LmdbMap>> LmdbMap::open(const std::string& dir, const LmdbFile& file,
                                                     std::uint64_t size) {
  const std::string what = "cannot read the index " + dir;
  std::shared_ptr<LmdbMap> map(new LmdbMap);
  if (const int code = ::mdb_env_create(&map->env_); code != 0) return lmdb_error(code, what);
  int code = ::mdb_env_set_maxdbs(map->env_, 3);
  if (code == 0) code = ::mdb_env_set_mapsize(map->env_, size);
  constexpr unsigned kFlags = MDB_RDONLY | MDB_NOLOCK | MDB_NOTLS;
  if (code == 0) code = ::mdb_env_open(map->env_, dir.c_str(), kFlags, 0600);
  if (code == ENOMEM) return no_address_space(dir, size);
  if (code != 0) return lmdb_error(code, what);
  mdb_filehandle_t handle = -1;
  code = ::mdb_env_get_fd(map->env_, &handle);
  if (code != 0) return lmdb_error(code, what);
  HEXAD_TRY(file.check_same(handle));
  HEXAD_TRY(map->open_tables(what));
  map->size_ = size;
  map->bounds_ = LmdbBounds(map->page_size_, size);
  return std::shared_ptr<const LmdbMap>(std::move(map));
}

// For all transactions of the environment.
Status LmdbMap::open_tables(const std::string& what) {
  MDB_txn* txn = nullptr;
  int code = ::mdb_txn_begin(env_, nullptr, MDB_RDONLY, &txn);
  if (code != 0) return lmdb_error(code, what);
  code = ::mdb_dbi_open(txn, kLmdbStateTable, 0, &tables_.state);
  if (code == 0) code = ::mdb_dbi_open(txn, kLmdbKeysTable, 0, &tables_.keys);
  if (code == 0) code = ::mdb_dbi_open(txn, kLmdbSegmentsTable, 0, &tables_.segments);
  MDB_stat stat{};
  if (code == 0) code = ::mdb_env_stat(env_, &stat);
  if (code != 0) {
    ::mdb_txn_abort(txn);
    return lmdb_error(code, what);
  }
  page_size_ = stat.ms_psize;
  code = ::mdb_txn_commit(txn);  // keeps the handles
  return code == 0 ? Status() : lmdb_error(code, what);
}

LmdbMap::~LmdbMap() {
  if (env_ != nullptr) ::mdb_env_close(env_);
}

// --- LmdbPin -------------------------------------------------------------------------------------

Result<std::shared_ptr<const LmdbPin>> LmdbPin::make(MDB_env* writer) {
  std::shared_ptr<LmdbPin> pin(new LmdbPin);
  const int code = ::mdb_txn_begin(writer, nullptr, MDB_RDONLY, &pin->txn_);
  if (code != 0) {
    pin->txn_ = nullptr;
    return lmdb_error(code, "index: cannot keep a state for its readers");
  }
  return std::shared_ptr<const LmdbPin>(std::move(pin));
}

LmdbPin::~LmdbPin() {
  if (txn_ != nullptr) ::mdb_txn_abort(txn_);
}

// --- LmdbSnapshot --------------------------------------------------------------------------------

LmdbSnapshot::LmdbSnapshot(std::shared_ptr<const LmdbMap> map, std::shared_ptr<const LmdbPin> pin)
    : map_(std::move(map)), pin_(std::move(pin)) {}

LmdbSnapshot::~LmdbSnapshot() {
  if (txn_ != nullptr) ::mdb_txn_abort(txn_);
}

Result<std::shared_ptr<const LmdbSnapshot>> LmdbSnapshot::make(const std::string& dir,
                                                               std::shared_ptr<const LmdbMap> map,
                                                               std::shared_ptr<const LmdbPin> pin) {
  std::shared_ptr<LmdbSnapshot> snapshot(new LmdbSnapshot(std::move(map), std::move(pin)));
  HEXAD_TRY(snapshot->begin(dir));
  return std::shared_ptr<const LmdbSnapshot>(std::move(snapshot));
}

Status LmdbSnapshot::begin(const std::string& dir) {
  const std::string what = "cannot read the index " + dir;
  if (const int code = ::mdb_txn_begin(map_->env(), nullptr, MDB_RDONLY, &txn_); code != 0) {
    txn_ = nullptr;
    return lmdb_error(code, what);
  }
  MDB_envinfo info{};
  if (const int code = ::mdb_env_info(map_->env(), &info); code != 0) return lmdb_error(code, what);
  last_page_ = info.me_last_pgno;
  const LmdbTables& tables = map_->tables();
  HEXAD_TRY_ASSIGN(const std::optional<std::string_view> value,
                   lmdb_get(txn_, tables.state, kLmdbStateKey, map_->bounds()));
  if (!value.has_value()) return lmdb_damage(dir + ": no LSN marker");
  Result<LmdbState> state = decode_lmdb_state(*value);
  if (!state.ok()) return lmdb_damage(dir + ": " + state.error().message);
  state_ = *state;
  // Y4: any look-up makes LMDB read the root of a table, and note it in the transaction.
  for (const unsigned table : {tables.keys, tables.segments}) {
    HEXAD_TRY(lmdb_get(txn_, table, kLmdbStateKey, map_->bounds()).status());
  }
  return {};
}

Result<IndexStats> LmdbSnapshot::stats() const {
  const LmdbTables& tables = map_->tables();
  IndexStats stats;
  stats.page_size = map_->page_size();
  std::uint64_t pages = 2;  // the meta pages
  for (const MDB_dbi table : {MDB_dbi{0}, MDB_dbi{1}, tables.state, tables.keys, tables.segments}) {
    MDB_stat stat{};
    if (const int code = ::mdb_stat(txn_, table, &stat); code != 0) {
      return lmdb_error(code, "index: cannot count its pages");
    }
    pages += stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
    if (table == tables.keys || table == tables.segments) stats.entries += stat.ms_entries;
  }
  stats.bytes_used = pages * stats.page_size;
  const std::uint64_t handed_out = (last_page_ + 1) * stats.page_size;
  stats.bytes_free = handed_out > stats.bytes_used ? handed_out - stats.bytes_used : 0;
  return stats;
}

std::optional<std::uint64_t> LmdbSnapshot::pages_used() const {
  const Result<IndexStats> found = stats();
  if (!found.ok()) return std::nullopt;
  return found->bytes_used / found->page_size;
}

// LMDB never writes over a page of the state before: it writes a copy, and notes in the tree of
// free pages, under the number of the transaction, how many pages have gone so, and which.
std::optional<std::uint64_t> LmdbSnapshot::pages_replaced(std::uint64_t id) const {
  constexpr MDB_dbi kFreePages = 0;
  MDB_cursor* cursor = nullptr;
  if (::mdb_cursor_open(txn_, kFreePages, &cursor) != 0) return std::nullopt;
  std::size_t number = id;
  MDB_val key{sizeof(number), &number};
  MDB_val value{};
  const int code = ::mdb_cursor_get(cursor, &key, &value, MDB_SET_KEY);
  std::size_t count = 0;
  if (code == 0 && value.mv_size >= sizeof(count)) {
    std::memcpy(&count, value.mv_data, sizeof(count));
  }
  ::mdb_cursor_close(cursor);
  if (code != 0 && code != MDB_NOTFOUND) return std::nullopt;
  return count;
}

}  // namespace hexad::kv
