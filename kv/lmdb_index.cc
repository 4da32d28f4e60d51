#include "kv/lmdb_index.h"

#include <lmdb.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "base/units.h"
#include "kv/index_changes.h"
#include "kv/lmdb_check.h"
#include "kv/lmdb_file.h"
#include "kv/lmdb_state.h"
#include "kv/lmdb_store.h"
#include "kv/long_key.h"

namespace hexad::kv {
namespace {

// Of 20 changes so many are written in the first round: a page that is half full then is 91 % full
// after the second one.
constexpr std::size_t kFirstOf20 = 11;

class LmdbIndexCursor final : public IndexCursor {
 public:
  explicit LmdbIndexCursor(ShortKeyStore& store) : cursor_(store) {}
  Status seek(std::string_view key) override { return cursor_.seek(key); }
  Status seek_before(std::string_view key) override { return cursor_.seek_before(key); }
  Status seek_to_first() override { return cursor_.seek_to_first(); }
  Status seek_to_last() override { return cursor_.seek_to_last(); }
  Status next() override { return cursor_.next(); }
  Status prev() override { return cursor_.prev(); }
  Result<std::size_t> advance(Way way, std::span<KeyValue> into) override {
    return cursor_.advance(way, into);
  }
  bool valid() const override { return cursor_.valid(); }
  std::string_view key() const override { return cursor_.key(); }
  std::string_view value() const override { return cursor_.value(); }

 private:
  LongCursor cursor_;
};

class LmdbIndex final : public Index {
 public:
  LmdbIndex(const LmdbOptions& options, io::Executor& executor, LmdbFile file)
      : options_(options), file_(std::move(file)), mutex_(executor), changed_(executor) {}
  ~LmdbIndex() override {
    for (MDB_txn* txn : idle_) ::mdb_txn_abort(txn);
    if (env_ != nullptr) ::mdb_env_close(env_);
  }

  Status open(bool created);
  Result<std::unique_ptr<IndexReader>> snapshot() override;
  Status apply(Lsn lsn, Epoch epoch, std::span<const IndexChange> changes) override;
  Lsn applied_lsn() const override {
    const io::Lock lock(mutex_);
    return state_.lsn;
  }
  Epoch applied_epoch() const override {
    const io::Lock lock(mutex_);
    return state_.epoch;
  }
  Result<IndexStats> stats() override;
  Status verify() override { return check_lmdb_file(file_, options_.uuid); }

 private:
  friend class LmdbReader;
  // Why a slice was not applied.
  enum class Slice { kDone, kMapFull, kTooLong };

  // In which order the changes of a slice are written; which of the two rounds `at` is in.
  static bool in_first_round(std::size_t at) { return at * kFirstOf20 % 20 < kFirstOf20; }
  static Status write_changes(LmdbStore& store, std::span<const IndexChange> changes);
  Result<Slice> apply_slice(std::span<const IndexChange> changes, const LmdbState& state);
  std::uint64_t pages_of(const IndexChange& change) const;
  Status grow();
  int begin_read(MDB_txn*& txn) const;
  void end_reader(MDB_txn* txn);
  Result<LmdbState> read_state(MDB_txn* txn) const;

  const LmdbOptions options_;
  LmdbFile file_;
  MDB_env* env_ = nullptr;
  LmdbTables tables_;
  std::uint64_t page_size_ = 4096;  // bytes
  LmdbBounds bounds_;               // of readers; changes only while there is none
  std::uint64_t map_size_ = 0;      // bytes; the file is at least as long
  std::optional<Error> failed_;     // of apply(): no more changes
  // LMDB's number of the newest transaction whose commit has begun.
  std::atomic<std::size_t> committing_{0};

  mutable io::Mutex mutex_;  // guards what follows
  io::CondVar changed_;
  LmdbState state_;             // as committed
  std::size_t seen_txn_ = 0;    // LMDB's number of the last snapshot whose marker was decoded
  LmdbState seen_;              // what it said
  std::uint64_t readers_ = 0;   // with a transaction that is in use
  bool growing_ = false;        // new readers wait
  std::vector<MDB_txn*> idle_;  // reset, to be renewed
};

class LmdbReader final : public IndexReader {
 public:
  LmdbReader(LmdbIndex& index, MDB_txn* txn, const LmdbState& state)
      : index_(index),
        txn_(txn),
        state_(state),
        store_(txn, index.tables_, index.bounds_, nullptr) {}
  ~LmdbReader() override { index_.end_reader(txn_); }

  Result<std::optional<std::string_view>> get(std::string_view key) override {
    HEXAD_TRY(check_index_key(key));
    return long_get(store_, key);
  }
  Result<std::unique_ptr<IndexCursor>> cursor() override {
    return std::unique_ptr<IndexCursor>(std::make_unique<LmdbIndexCursor>(store_));
  }
  Lsn applied_lsn() const override { return state_.lsn; }
  Epoch applied_epoch() const override { return state_.epoch; }

 private:
  LmdbIndex& index_;
  MDB_txn* txn_;
  LmdbState state_;
  LmdbStore store_;
};

// --- opening -------------------------------------------------------------------------------------

Status LmdbIndex::open(bool created) {
  const bool write = options_.mode == io::OpenMode::kReadWrite;
  const std::string what = "cannot open the index " + options_.dir;
  HEXAD_TRY_ASSIGN(const std::uint64_t file_size, file_.size());
  const auto os_page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if (created) {
    map_size_ = round_up(std::max<std::uint64_t>(options_.initial_size, 64 * os_page), os_page);
  } else {
    HEXAD_TRY(check_lmdb_head(file_, options_.uuid));  // LMDB would believe it; also the length
    map_size_ = round_up(file_size, os_page);
  }
  if (write) {
    // Nobody else has the file open: the lock on it says so. What a dead process left in the table
    // of readers would keep pages from being used again.
    HEXAD_TRY(create_lmdb_lock(options_.dir, options_.max_readers));
  }
  if (const int code = ::mdb_env_create(&env_); code != 0) return lmdb_error(code, what);
  int code = ::mdb_env_set_maxdbs(env_, 3);
  if (code == 0) code = ::mdb_env_set_maxreaders(env_, options_.max_readers);
  if (code == 0) code = ::mdb_env_set_mapsize(env_, map_size_);
  const unsigned flags = MDB_NOTLS | (write ? 0u : MDB_RDONLY | MDB_NOLOCK);
  if (code == 0) code = ::mdb_env_open(env_, options_.dir.c_str(), flags, 0600);
  if (code != 0) return lmdb_error(code, what);
  if (write) {
    HEXAD_TRY(file_.extend(map_size_));
    HEXAD_TRY(sync_lmdb_dir(options_.dir));
  }

  MDB_txn* txn = nullptr;
  code = ::mdb_txn_begin(env_, nullptr, created ? 0u : unsigned{MDB_RDONLY}, &txn);
  if (code != 0) return lmdb_error(code, what);
  const unsigned create = created ? MDB_CREATE : 0u;
  code = ::mdb_dbi_open(txn, kLmdbStateTable, create, &tables_.state);
  if (code == 0) code = ::mdb_dbi_open(txn, kLmdbKeysTable, create, &tables_.keys);
  if (code == 0) code = ::mdb_dbi_open(txn, kLmdbSegmentsTable, create, &tables_.segments);
  if (code == 0 && created) {
    state_.uuid = options_.uuid;
    const std::string encoded = encode_lmdb_state(state_);
    code = lmdb_put(txn, tables_.state, kLmdbStateKey, encoded);
  }
  MDB_stat stat{};
  if (code == 0) code = ::mdb_env_stat(env_, &stat);
  if (code != 0) {
    ::mdb_txn_abort(txn);
    return lmdb_error(code, what);
  }
  page_size_ = stat.ms_psize;
  const LmdbBounds bounds(page_size_, map_size_);
  if (!created) bounds_ = bounds;
  Result<LmdbState> state = read_state(txn);
  if (!state.ok()) {
    ::mdb_txn_abort(txn);
    return state.error();
  }
  code = ::mdb_txn_commit(txn);  // also what keeps the handles of a reading transaction
  if (code != 0) return lmdb_error(code, what);
  bounds_ = bounds;
  if (state->uuid != options_.uuid) {
    return lmdb_damage(options_.dir + ": belongs to store " + to_string(state->uuid) + ", not " +
                       to_string(options_.uuid));
  }
  state_ = *state;
  return {};
}

Result<LmdbState> LmdbIndex::read_state(MDB_txn* txn) const {
  HEXAD_TRY_ASSIGN(const std::optional<std::string_view> value,
                   lmdb_get(txn, tables_.state, kLmdbStateKey, bounds_));
  if (!value.has_value()) return lmdb_damage(options_.dir + ": no LSN marker");
  Result<LmdbState> state = decode_lmdb_state(*value);
  if (!state.ok()) return lmdb_damage(options_.dir + ": " + state.error().message);
  return state;
}

// --- reading -------------------------------------------------------------------------------------

Result<std::unique_ptr<IndexReader>> LmdbIndex::snapshot() {
  MDB_txn* txn = nullptr;
  std::size_t seen_txn = 0;
  LmdbState state;
  {
    io::Lock lock(mutex_);
    changed_.wait(lock, [this] { return !growing_; });
    ++readers_;
    seen_txn = seen_txn_;
    state = seen_;
    if (!idle_.empty()) {
      txn = idle_.back();
      idle_.pop_back();
    }
  }
  if (const int code = begin_read(txn); code != 0) {
    if (txn != nullptr) ::mdb_txn_abort(txn);
    end_reader(nullptr);
    return lmdb_error(code, "cannot read the index " + options_.dir);
  }
  // Most snapshots are of the same state; it is decoded once.
  if (const std::size_t id = ::mdb_txn_id(txn); id != seen_txn) {
    Result<LmdbState> read = read_state(txn);
    if (!read.ok()) {
      end_reader(txn);
      return read.error();
    }
    state = *read;
    const io::Lock lock(mutex_);
    seen_txn_ = id;
    seen_ = state;
  }
  return std::unique_ptr<IndexReader>(std::make_unique<LmdbReader>(*this, txn, state));
}

// Begins, or begins anew, a transaction that reads; returns LMDB's code.
//
// LMDB 0.9 announces the number of a snapshot and then copies its roots from one of two meta pages,
// which take turns. Where two commits come between the two steps, the copy is of the second commit,
// or of half of it, under the old number. The page of snapshot N is next written by the commit of
// N + 2: as long as that has not begun after the copy, the copy is whole.
int LmdbIndex::begin_read(MDB_txn*& txn) const {
  for (;;) {
    const int code =
        txn != nullptr ? ::mdb_txn_renew(txn) : ::mdb_txn_begin(env_, nullptr, MDB_RDONLY, &txn);
    if (code != 0 || committing_ < ::mdb_txn_id(txn) + 2) return code;
    ::mdb_txn_reset(txn);
  }
}

void LmdbIndex::end_reader(MDB_txn* txn) {
  // Reset first: a reader that holds no pages keeps only its slot.
  if (txn != nullptr) ::mdb_txn_reset(txn);
  const io::Lock lock(mutex_);
  if (txn != nullptr) idle_.push_back(txn);
  --readers_;
  if (growing_ && readers_ == 0) changed_.notify_all();
}

// --- writing -------------------------------------------------------------------------------------

// About how many pages one change makes dirty: its leaf, its share of splits, what it overflows
// into, and the same again for every marker of a long key.
std::uint64_t LmdbIndex::pages_of(const IndexChange& change) const {
  const std::uint64_t levels = 1 + change.key.size() / kInlineKey;
  const std::uint64_t bytes = change.value.has_value() ? change.value->size() : 0;
  return 2 * levels + bytes / page_size_;
}

Status LmdbIndex::apply(Lsn lsn, Epoch epoch, std::span<const IndexChange> changes) {
  if (options_.mode == io::OpenMode::kReadOnly) {
    return Error{ErrorCode::kReadOnly, "index: opened read-only", ""};
  }
  if (failed_.has_value()) return failed_->with_context("the index failed before");
  HEXAD_TRY(check_index_changes(applied_lsn(), lsn, changes));
  std::uint64_t limit = options_.pages_per_slice;
  std::size_t done = 0;
  bool flushed_frees = false;  // since the last slice
  for (bool finished = false; !finished;) {
    std::size_t end = done;
    for (std::uint64_t pages = 0; end < changes.size(); ++end) {
      pages += pages_of(changes[end]);
      if (pages > limit && end > done) break;
    }
    LmdbState state = state_;  // only this thread changes it
    const bool last = end == changes.size();
    if (last) {  // says how far the index has come
      state.lsn = lsn;
      state.epoch = epoch;
    }
    HEXAD_TRY_ASSIGN(const Slice slice, apply_slice(changes.subspan(done, end - done), state));
    switch (slice) {
      case Slice::kDone:
        done = end;
        finished = last;
        flushed_frees = false;
        break;
      case Slice::kMapFull: {
        Status grown = grow();
        if (grown.ok()) break;
        if (flushed_frees || grown.error().code != ErrorCode::kNoSpace) return grown;
        // What the transaction before this one freed may be used by the one after this one.
        HEXAD_TRY(apply_slice({}, state_));
        flushed_frees = true;
        break;
      }
      case Slice::kTooLong:
        if (end - done <= 1) {
          return Error{ErrorCode::kTooBig, "index: one change is more than a transaction holds",
                       ""};
        }
        limit /= 2;
        break;
    }
  }
  return {};
}

// In two rounds of ascending keys, since LMDB cuts a full page in the middle unless the new key
// goes behind its last one. Keys in a row that are new, with others behind them, would leave one
// half full page after the other. So the first round makes those pages, and the second one, of a
// bit fewer keys, fills them.
Status LmdbIndex::write_changes(LmdbStore& store, std::span<const IndexChange> changes) {
  for (const bool first_round : {true, false}) {
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (in_first_round(i) != first_round) continue;
      const IndexChange& change = changes[i];
      HEXAD_TRY(change.value.has_value() ? long_put(store, change.key, *change.value)
                                         : long_erase(store, change.key));
    }
  }
  return {};
}

Result<LmdbIndex::Slice> LmdbIndex::apply_slice(std::span<const IndexChange> changes,
                                                const LmdbState& state) {
  LmdbState next = state;
  MDB_txn* txn = nullptr;
  int code = ::mdb_txn_begin(env_, nullptr, 0, &txn);
  if (code != 0) return lmdb_error(code, "index: cannot begin a transaction");
  Status status;
  {
    const LmdbBounds unchecked;
    LmdbStore store(txn, tables_, unchecked, &next);
    status = write_changes(store, changes);
    code = store.write_code();
  }
  if (status.ok()) {
    const std::string encoded = encode_lmdb_state(next);
    code = lmdb_put(txn, tables_.state, kLmdbStateKey, encoded);
    if (code != 0) status = lmdb_error(code, "index: cannot write the LSN marker");
  }
  if (status.ok()) {
    committing_ = ::mdb_txn_id(txn);
    code = ::mdb_txn_commit(txn);  // frees the transaction, whatever it returns
    if (code != 0) status = lmdb_error(code, "index: cannot commit in " + options_.dir);
  } else {
    ::mdb_txn_abort(txn);
  }
  if (code == MDB_MAP_FULL) return Slice::kMapFull;
  if (code == MDB_TXN_FULL) return Slice::kTooLong;
  if (!status.ok()) {
    // Without room nothing was referenced and trying again is sound. After any other failure,
    // above all of a sync, nobody knows what is on the medium (R11).
    if (status.error().code != ErrorCode::kNoSpace) failed_ = status.error();
    return status.error();
  }
  const io::Lock lock(mutex_);
  state_ = next;
  return Slice::kDone;
}

Status LmdbIndex::grow() {
  if (map_size_ >= options_.max_size) {
    return Error{
        ErrorCode::kNoSpace,
        "index: " + options_.dir + " has reached its limit of " + format_size(options_.max_size),
        "raise the budget of the fast tier, or let a key range leave it"};
  }
  const std::uint64_t most = std::min(options_.max_size - map_size_, std::uint64_t{1} << 30);
  std::uint64_t more = round_up(std::min(map_size_, most), std::uint64_t{65536});
  // Doubling, or as much as there is room for.
  Status extended = file_.extend(map_size_ + more);
  while (!extended.ok() && extended.error().code == ErrorCode::kNoSpace && more >= 2u << 20) {
    more = round_up(more / 2, std::uint64_t{65536});
    extended = file_.extend(map_size_ + more);
  }
  if (!extended.ok()) {
    if (extended.error().code != ErrorCode::kNoSpace) failed_ = extended.error();
    return extended;
  }
  io::Lock lock(mutex_);
  growing_ = true;
  changed_.wait(lock, [this] { return readers_ == 0; });
  // The new map may lie elsewhere, so no transaction may be open.
  const int code = ::mdb_env_set_mapsize(env_, map_size_ + more);
  growing_ = false;
  changed_.notify_all();
  if (code != 0) {
    failed_ = lmdb_error(code, "index: cannot map " + format_size(map_size_ + more));
    return *failed_;
  }
  map_size_ += more;
  bounds_ = LmdbBounds(page_size_, map_size_);
  return {};
}

Result<IndexStats> LmdbIndex::stats() {
  HEXAD_TRY_ASSIGN(const std::unique_ptr<IndexReader> reader, snapshot());
  HEXAD_TRY_ASSIGN(const LmdbMeta meta, file_.read_meta());
  IndexStats stats;
  stats.page_size = page_size_;
  HEXAD_TRY_ASSIGN(stats.file_bytes, file_.size());
  MDB_txn* txn = nullptr;
  if (const int code = begin_read(txn); code != 0) {
    return lmdb_error(code, "cannot read the index " + options_.dir);
  }
  std::uint64_t pages = 2;
  for (const MDB_dbi dbi :
       {MDB_dbi{0}, MDB_dbi{1}, tables_.state, tables_.keys, tables_.segments}) {
    MDB_stat stat{};
    if (::mdb_stat(txn, dbi, &stat) != 0) continue;
    pages += stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
    if (dbi == tables_.keys || dbi == tables_.segments) stats.entries += stat.ms_entries;
  }
  ::mdb_txn_abort(txn);
  stats.bytes_used = pages * page_size_;
  const std::uint64_t handed_out = (meta.last_page + 1) * page_size_;
  stats.bytes_free = handed_out > stats.bytes_used ? handed_out - stats.bytes_used : 0;
  return stats;
}

class LmdbIndexHome final : public IndexHome {
 public:
  LmdbIndexHome(io::Executor& executor, LmdbOptions like)
      : executor_(executor), like_(std::move(like)) {}

  Result<std::unique_ptr<Index>> open(const std::string& directory, const Uuid& store,
                                      io::OpenMode mode) override {
    LmdbOptions options = like_;
    options.dir = directory;
    options.uuid = store;
    options.mode = mode;
    return open_lmdb_index(options, executor_);
  }
  Status remove(const std::string& directory) override { return remove_lmdb_index(directory); }

 private:
  io::Executor& executor_;
  const LmdbOptions like_;
};

}  // namespace

std::unique_ptr<IndexHome> make_lmdb_home(io::Executor& executor, const LmdbOptions& like) {
  return std::make_unique<LmdbIndexHome>(executor, like);
}

Result<std::unique_ptr<Index>> open_lmdb_index(const LmdbOptions& options, io::Executor& executor) {
  bool created = false;
  if (options.mode == io::OpenMode::kReadWrite) {
    HEXAD_TRY(make_lmdb_dir(options.dir));
    HEXAD_TRY_ASSIGN(created, create_lmdb_file(options.dir));
  }
  HEXAD_TRY_ASSIGN(LmdbFile file, LmdbFile::open(options.dir, options.mode));
  auto index = std::make_unique<LmdbIndex>(options, executor, std::move(file));
  if (Status status = index->open(created); !status.ok()) {
    index.reset();
    // Half a new file would be taken for a damaged one next time.
    if (created) remove_file(options.dir + "/data.mdb").ignore();
    return status.error();
  }
  return std::unique_ptr<Index>(std::move(index));
}

Status verify_lmdb_file(const std::string& dir, const Uuid& uuid) {
  HEXAD_TRY_ASSIGN(const LmdbFile file, LmdbFile::open(dir, io::OpenMode::kReadOnly));
  return check_lmdb_file(file, uuid);
}

Status remove_lmdb_index(const std::string& dir) {
  HEXAD_TRY(remove_file(dir + "/data.mdb"));
  HEXAD_TRY(remove_file(dir + "/lock.mdb"));
  return remove_lmdb_dir(dir);
}

}  // namespace hexad::kv
