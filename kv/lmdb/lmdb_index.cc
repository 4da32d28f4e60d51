#include "kv/lmdb/lmdb_index.h"

#include <lmdb.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/units.h"
#include "kv/index_changes.h"
#include "kv/lmdb/lmdb_check.h"
#include "kv/lmdb/lmdb_file.h"
#include "kv/lmdb/lmdb_snapshot.h"
#include "kv/lmdb/lmdb_state.h"
#include "kv/lmdb/lmdb_store.h"
#include "kv/lmdb/long_key.h"

namespace hexad::kv {
namespace {

// Of 20 changes so many are written in the first round: a page that is half full then is 91 % full
// after the second one.
constexpr std::size_t kFirstOf20 = 11;

// With so many snapshots the length of the file is looked at once: asking the kernel takes as long
// as all the rest of a snapshot.
constexpr std::uint64_t kLookedAtOneIn = 16;

// Bytes: what the kernel maps at a time.
std::uint64_t memory_page() { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

class LmdbIndexCursor final : public IndexCursor {
 public:
  explicit LmdbIndexCursor(ShortKeyStore& store) : cursor_(store) {}
  Status seek(std::string_view key) override { return cursor_.seek(key); }
  Status seek_before(std::string_view key) override { return cursor_.seek_before(key); }
  Status seek_to_first() override { return cursor_.seek_to_first(); }
  Status seek_to_last() override { return cursor_.seek_to_last(); }
  Status next() override { return cursor_.next(); }
  Status prev() override { return cursor_.prev(); }
  Result<std::size_t> advance(Direction direction, std::span<KeyValue> into) override {
    return cursor_.advance(direction, into);
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
      : options_(options), file_(std::move(file)), mutex_(executor) {}
  ~LmdbIndex() override {
    current_.reset();
    if (env_ != nullptr) ::mdb_env_close(env_);
  }

  Status open(bool created);
  Result<std::unique_ptr<IndexReader>> snapshot() override;
  Status apply(Lsn lsn, Epoch epoch, std::span<const IndexChange> changes) override;
  Lsn applied_lsn() const override { return current()->state().lsn; }
  Epoch applied_epoch() const override { return current()->state().epoch; }
  Result<IndexStats> stats() override;
  std::uint64_t bytes_written() const override { return written_.load(std::memory_order_relaxed); }
  Status verify() override { return check_lmdb_file(file_, options_.uuid); }

 private:
  // Why a slice was not applied.
  enum class Slice { kDone, kMapFull, kTooLong };

  // In which order the changes of a slice are written; which of the two rounds `at` is in.
  static bool in_first_round(std::size_t at) { return at * kFirstOf20 % 20 < kFirstOf20; }
  static Status write_changes(LmdbStore& store, std::span<const IndexChange> changes);
  Status open_writer(bool created);
  Status open_tables(bool created);
  Result<Slice> apply_slice(std::span<const IndexChange> changes, const LmdbState& state);
  std::uint64_t pages_of(const IndexChange& change) const;
  Status check_length(const LmdbMap& map) const;
  Status extend(std::uint64_t& more);
  Status grow();
  Status publish();
  void count_written(const LmdbSnapshot& before, std::uint64_t transaction);
  std::shared_ptr<const LmdbSnapshot> current() const {
    const io::Lock lock(mutex_);
    return current_;
  }

  const LmdbOptions options_;
  LmdbFile file_;
  std::uint64_t map_size_ = 0;  // bytes; the file is at least as long
  // What writes, one thread at a time; nothing is read through it but by its own transactions.
  MDB_env* env_ = nullptr;
  LmdbTables tables_;
  std::optional<Error> failed_;         // of apply(): no more changes
  std::shared_ptr<const LmdbMap> map_;  // for states from now on

  mutable io::Mutex mutex_;
  // What readers get; never null once it is open. Changed under mutex_ by the thread that writes
  // alone, which reads it without.
  std::shared_ptr<const LmdbSnapshot> current_;
  std::uint64_t snapshots_ HEXAD_GUARDED_BY(mutex_) = 0;  // given out
  std::atomic<std::uint64_t> written_{0};                 // bytes
};

class LmdbReader final : public IndexReader {
 public:
  explicit LmdbReader(std::shared_ptr<const LmdbSnapshot> of)
      : of_(std::move(of)),
        store_(of_->transaction(), of_->map().tables(), of_->map().bounds(), nullptr) {}

  Result<std::optional<std::string_view>> get(std::string_view key) override {
    HEXAD_TRY(check_index_key(key));
    return long_get(store_, key);
  }
  Result<std::unique_ptr<IndexCursor>> cursor() override {
    return std::unique_ptr<IndexCursor>(std::make_unique<LmdbIndexCursor>(store_));
  }
  Lsn applied_lsn() const override { return of_->state().lsn; }
  Epoch applied_epoch() const override { return of_->state().epoch; }

 private:
  const std::shared_ptr<const LmdbSnapshot> of_;
  LmdbStore store_;
};

// --- opening -------------------------------------------------------------------------------------

Status LmdbIndex::open(bool created) {
  HEXAD_TRY_ASSIGN(const std::uint64_t file_size, file_.size());
  if (created) {
    map_size_ = round_up(std::max(options_.initial_size, 64 * memory_page()), memory_page());
  } else {
    HEXAD_TRY(check_lmdb_head(file_, options_.uuid));  // LMDB would believe it; also the length
    map_size_ = round_up(file_size, memory_page());
  }
  if (options_.mode == io::OpenMode::kReadWrite) HEXAD_TRY(open_writer(created));
  HEXAD_TRY_ASSIGN(map_, LmdbMap::open(options_.dir, file_, map_size_));
  HEXAD_TRY(publish());
  const Uuid& found = current()->state().uuid;
  if (found == options_.uuid) return {};
  return lmdb_damage(options_.dir + ": belongs to store " + to_string(found) + ", not " +
                     to_string(options_.uuid));
}

Status LmdbIndex::open_writer(bool created) {
  const std::string what = "cannot open the index " + options_.dir;
  // Nobody else has the file open: the lock on it says so. What a dead process left in the table
  // of readers would keep pages from being used again.
  HEXAD_TRY(create_lmdb_lock(options_.dir, options_.max_pins));
  if (const int code = ::mdb_env_create(&env_); code != 0) return lmdb_error(code, what);
  int code = ::mdb_env_set_maxdbs(env_, 3);
  if (code == 0) code = ::mdb_env_set_maxreaders(env_, options_.max_pins);
  if (code == 0) code = ::mdb_env_set_mapsize(env_, map_size_);
  if (code == 0) code = ::mdb_env_open(env_, options_.dir.c_str(), MDB_NOTLS, 0600);
  if (code != 0) return lmdb_error(code, what);
  mdb_filehandle_t handle = -1;
  code = ::mdb_env_get_fd(env_, &handle);
  if (code != 0) return lmdb_error(code, what);
  HEXAD_TRY(file_.check_same(handle));
  HEXAD_TRY(file_.extend(map_size_));
  HEXAD_TRY(sync_lmdb_dir(options_.dir));
  return open_tables(created);
}

Status LmdbIndex::open_tables(bool created) {
  const std::string what = "cannot open the index " + options_.dir;
  MDB_txn* txn = nullptr;
  int code = ::mdb_txn_begin(env_, nullptr, created ? 0u : unsigned{MDB_RDONLY}, &txn);
  if (code != 0) return lmdb_error(code, what);
  const unsigned create = created ? MDB_CREATE : 0u;
  code = ::mdb_dbi_open(txn, kLmdbStateTable, create, &tables_.state);
  if (code == 0) code = ::mdb_dbi_open(txn, kLmdbKeysTable, create, &tables_.keys);
  if (code == 0) code = ::mdb_dbi_open(txn, kLmdbSegmentsTable, create, &tables_.segments);
  if (code == 0 && created) {
    LmdbState state;
    state.uuid = options_.uuid;
    code = lmdb_put(txn, tables_.state, kLmdbStateKey, encode_lmdb_state(state));
  }
  if (code != 0) {
    ::mdb_txn_abort(txn);
    return lmdb_error(code, what);
  }
  code = ::mdb_txn_commit(txn);  // also what keeps the handles of a reading transaction
  return code == 0 ? Status() : lmdb_error(code, what);
}

// --- reading -------------------------------------------------------------------------------------

// A file that somebody has cut would end the process where its missing part is read (SIGBUS). The
// map is there before the file is looked at, which is at least as long from then on (Y1).
Status LmdbIndex::check_length(const LmdbMap& map) const {
  HEXAD_TRY_ASSIGN(const std::uint64_t size, file_.size());
  if (round_up(size, memory_page()) >= map.size()) return {};
  return lmdb_damage(file_.path() + ": somebody has cut it to " + format_size(size) + " of " +
                     format_size(map.size()) + " while it was open");
}

Result<std::unique_ptr<IndexReader>> LmdbIndex::snapshot() {
  std::shared_ptr<const LmdbSnapshot> newest;
  bool look = false;
  {
    const io::Lock lock(mutex_);
    newest = current_;
    look = snapshots_++ % kLookedAtOneIn == 0;
  }
  if (look) HEXAD_TRY(check_length(newest->map()));
  return std::unique_ptr<IndexReader>(std::make_unique<LmdbReader>(std::move(newest)));
}

Result<IndexStats> LmdbIndex::stats() {
  const std::shared_ptr<const LmdbSnapshot> newest = current();
  HEXAD_TRY(check_length(newest->map()));
  HEXAD_TRY_ASSIGN(IndexStats stats, newest->stats());
  HEXAD_TRY_ASSIGN(stats.file_bytes, file_.size());
  return stats;
}

// What was committed last is what readers get from now on. The state before goes with its readers.
Status LmdbIndex::publish() {
  std::shared_ptr<const LmdbPin> pin;
  if (env_ != nullptr) {
    Result<std::shared_ptr<const LmdbPin>> made = LmdbPin::make(env_);
    if (made.ok()) {
      pin = std::move(made).value();
    } else if (made.error().code == ErrorCode::kBusy && current_ != nullptr) {
      pin = current_->pin();  // an older one keeps this state as well (Y3), and some pages more
    } else {
      return made.error();
    }
  }
  HEXAD_TRY_ASSIGN(std::shared_ptr<const LmdbSnapshot> next,
                   LmdbSnapshot::make(options_.dir, map_, std::move(pin)));
  {
    const io::Lock lock(mutex_);
    std::swap(current_, next);
  }
  return {};  // here the state before goes, unless somebody reads it: not under the lock
}

// --- writing -------------------------------------------------------------------------------------

// About how many pages one change makes dirty: its leaf, its share of splits, what it overflows
// into, and the same again for every marker of a long key.
std::uint64_t LmdbIndex::pages_of(const IndexChange& change) const {
  const std::uint64_t levels = 1 + change.key.size() / kInlineKey;
  const std::uint64_t bytes = change.value.has_value() ? change.value->size() : 0;
  return 2 * levels + bytes / map_->page_size();
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
    LmdbState state = current_->state();
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
        HEXAD_TRY(apply_slice({}, current_->state()));
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
  HEXAD_TRY(check_length(*map_));
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
  const std::uint64_t number = ::mdb_txn_id(txn);
  if (status.ok()) {
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
  const std::shared_ptr<const LmdbSnapshot> before = current();
  if (const Status published = publish(); !published.ok()) {
    failed_ = published.error();  // committed, and nobody can read it here
    return *failed_;
  }
  count_written(*before, number);
  return Slice::kDone;
}

// Of the last commit; `before`: the state before it. What cannot be counted is left out: nothing
// rests on it. One page more, the meta page, is written by every commit.
void LmdbIndex::count_written(const LmdbSnapshot& before, std::uint64_t transaction) {
  const std::optional<std::uint64_t> was = before.pages_used();
  const std::optional<std::uint64_t> is = current_->pages_used();
  const std::optional<std::uint64_t> replaced = current_->pages_replaced(transaction);
  if (!was.has_value() || !is.has_value() || !replaced.has_value()) return;
  const std::uint64_t pages = *is + *replaced + 1;
  written_.fetch_add((pages - std::min(pages, *was)) * map_->page_size(),
                     std::memory_order_relaxed);
}

// Doubles the file, or adds as much as there is room for; `more` says how much. Address space is
// asked for first: what cannot be mapped would only take room.
Status LmdbIndex::extend(std::uint64_t& more) {
  constexpr std::uint64_t kStep = 65536;
  constexpr std::uint64_t kLeast = 2u << 20;
  const std::uint64_t most = std::min(options_.max_size - map_size_, std::uint64_t{1} << 30);
  for (more = round_up(std::min(map_size_, most), kStep);; more = round_up(more / 2, kStep)) {
    // The readers' next map, and what the writer's becomes longer by.
    Status extended = check_address_space(options_.dir, map_size_ + 2 * more);
    if (extended.ok()) extended = file_.extend(map_size_ + more);
    if (extended.ok()) return {};
    if (extended.error().code != ErrorCode::kNoSpace || more < kLeast) return extended;
  }
}

// Waits for nobody. The order: the file has its new length before anything may use it (Y1); readers
// have a map of it before a commit can; then the writer's map.
Status LmdbIndex::grow() {
  if (map_size_ >= options_.max_size) {
    return Error{
        ErrorCode::kNoSpace,
        "index: " + options_.dir + " has reached its limit of " + format_size(options_.max_size),
        "raise the budget of the fast tier, or let a key range leave it"};
  }
  std::uint64_t more = 0;
  Status grown = extend(more);
  std::shared_ptr<const LmdbMap> map;
  if (grown.ok()) {
    Result<std::shared_ptr<const LmdbMap>> opened =
        LmdbMap::open(options_.dir, file_, map_size_ + more);
    grown = opened.status();
    if (opened.ok()) map = std::move(opened).value();
  }
  if (!grown.ok()) {
    if (grown.error().code != ErrorCode::kNoSpace) failed_ = grown.error();
    return grown;
  }
  // LMDB unmaps what it has and maps anew. What it knows of readers are the entries of pins, which
  // lie in the lock file and never look at the map.
  if (const int code = ::mdb_env_set_mapsize(env_, map_size_ + more); code != 0) {
    failed_ = lmdb_error(code, "index: cannot map " + format_size(map_size_ + more));
    return *failed_;
  }
  map_size_ += more;
  map_ = std::move(map);
  grown = publish();
  if (!grown.ok()) failed_ = grown.error();
  return grown;
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
  std::optional<std::uint64_t> room(const std::string& directory) override {
    const std::optional<std::uint64_t> left = lmdb_room(directory);
    return left.has_value() ? std::optional(std::min(*left, like_.max_size)) : std::nullopt;
  }

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
