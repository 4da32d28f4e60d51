#include <lmdb.h>

#include "base/units.h"
#include "benchmarks/commit_path/must.h"
#include "benchmarks/transactions/rival.h"

namespace hexad::bench {

namespace {

// Address space, not memory.
constexpr std::size_t kMapBytes = 16_GiB;

void must_lmdb(int code, const char* what) {
  if (code != MDB_SUCCESS) die(std::string("LMDB: ") + what + ": " + mdb_strerror(code));
}

MDB_val value_of(std::string_view text) {
  return {text.size(), const_cast<char*>(text.data())};  // NOLINT: LMDB does not write there
}

class LmdbRival final : public Rival {
 public:
  explicit LmdbRival(const std::filesystem::path& directory) {
    std::filesystem::create_directories(directory);
    must_lmdb(mdb_env_create(&environment_), "make an environment");
    must_lmdb(mdb_env_set_mapsize(environment_, kMapBytes), "set its size");
    must_lmdb(mdb_env_open(environment_, directory.c_str(), MDB_NOTLS, 0600), "open it");
    MDB_txn* transaction = nullptr;
    must_lmdb(mdb_txn_begin(environment_, nullptr, 0, &transaction), "begin");
    must_lmdb(mdb_dbi_open(transaction, nullptr, 0, &database_), "open the database");
    must_lmdb(mdb_txn_commit(transaction), "commit");
  }
  ~LmdbRival() override { mdb_env_close(environment_); }
  LmdbRival(const LmdbRival&) = delete;
  LmdbRival& operator=(const LmdbRival&) = delete;

  std::optional<std::string> get(std::string_view key) override {
    MDB_txn* transaction = nullptr;
    must_lmdb(mdb_txn_begin(environment_, nullptr, MDB_RDONLY, &transaction), "begin to read");
    MDB_val name = value_of(key);
    MDB_val found{};
    const int code = mdb_get(transaction, database_, &name, &found);
    std::optional<std::string> value;
    if (code == MDB_SUCCESS) value.emplace(static_cast<const char*>(found.mv_data), found.mv_size);
    mdb_txn_abort(transaction);
    if (code != MDB_NOTFOUND) must_lmdb(code, "get");
    return value;
  }
  void commit(const std::vector<KeyChange>& changes) override {
    MDB_txn* transaction = nullptr;
    must_lmdb(mdb_txn_begin(environment_, nullptr, 0, &transaction), "begin");
    for (const KeyChange& change : changes) {
      MDB_val key = value_of(change.key);
      MDB_val value = value_of(change.value);
      must_lmdb(mdb_put(transaction, database_, &key, &value, 0), "put");
    }
    must_lmdb(mdb_txn_commit(transaction), "commit");
  }

 private:
  MDB_env* environment_ = nullptr;
  MDB_dbi database_ = 0;
};

}  // namespace

std::unique_ptr<Rival> open_lmdb_rival(const std::filesystem::path& directory) {
  return std::make_unique<LmdbRival>(directory);
}

}  // namespace hexad::bench
