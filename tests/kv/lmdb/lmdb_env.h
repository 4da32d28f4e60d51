// An LMDB environment that a test fills as it likes, with the three tables of an index.
#pragma once

#include <lmdb.h>

#include <filesystem>
#include <functional>
#include <string>

#include "base/assert.h"
#include "kv/lmdb/lmdb_state.h"
#include "kv/lmdb/lmdb_store.h"

namespace hexad::kv::testing {

class LmdbEnv {
 public:
  explicit LmdbEnv(std::string dir, std::size_t map_size = 8u << 20) : dir_(std::move(dir)) {
    std::filesystem::create_directory(dir_);
    must(::mdb_env_create(&env_));
    must(::mdb_env_set_maxdbs(env_, 4));
    must(::mdb_env_set_mapsize(env_, map_size));
    must(::mdb_env_open(env_, dir_.c_str(), MDB_NOTLS | MDB_NOSYNC, 0600));
    MDB_txn* const txn = begin(0);
    must(::mdb_dbi_open(txn, kLmdbStateTable, MDB_CREATE, &tables.state));
    must(::mdb_dbi_open(txn, kLmdbKeysTable, MDB_CREATE, &tables.keys));
    must(::mdb_dbi_open(txn, kLmdbSegmentsTable, MDB_CREATE, &tables.segments));
    must(::mdb_txn_commit(txn));
  }
  ~LmdbEnv() { ::mdb_env_close(env_); }
  LmdbEnv(const LmdbEnv&) = delete;
  LmdbEnv& operator=(const LmdbEnv&) = delete;

  MDB_txn* begin(unsigned flags) {
    MDB_txn* txn = nullptr;
    must(::mdb_txn_begin(env_, nullptr, flags, &txn));
    return txn;
  }
  // Commits what `body` writes.
  void write(const std::function<void(MDB_txn*)>& body) {
    MDB_txn* const txn = begin(0);
    body(txn);
    must(::mdb_txn_commit(txn));
  }
  const std::string& dir() const { return dir_; }
  MDB_env* get() const { return env_; }
  static void must(int code) { HEXAD_ASSERT(code == 0); }

  LmdbTables tables;

 private:
  std::string dir_;
  MDB_env* env_ = nullptr;
};

}  // namespace hexad::kv::testing
