// LMDB, alone and with a queue in front that groups changes.
#include <lmdb.h>

#include "benchmarks/commit_path/must.h"
#include "benchmarks/peers/grouping_queue.h"
#include "benchmarks/peers/key_value_peer.h"

namespace hexad::bench {

namespace {

constexpr unsigned kReaders = 256;
// Copy on write needs room for two versions of all, and pages are never quite full.
constexpr std::uint64_t kMapPerByte = 4;
constexpr const char* kSettings =
    "a sync at every commit (its default); MDB_NORDAHEAD, as for random reads; map of four times "
    "the data, 256 readers";

void check(int result) {
  if (result != MDB_SUCCESS) die(std::string("LMDB: ") + mdb_strerror(result));
}

MDB_val value_of(const void* data, std::size_t size) { return {size, const_cast<void*>(data)}; }

class LmdbPeer : public KeyValuePeer {
 public:
  explicit LmdbPeer(const PeerPlace& place) : place_(place) {
    std::filesystem::create_directories(place.directory);
    open();
  }
  ~LmdbPeer() override { mdb_env_close(env_); }

  Bytes get(const std::string& name) override {
    MDB_txn* txn = nullptr;
    check(mdb_txn_begin(env_, nullptr, MDB_RDONLY, &txn));
    MDB_val key = value_of(name.data(), name.size());
    MDB_val value;
    check(mdb_get(txn, table_, &key, &value));
    const auto* begin = static_cast<const std::byte*>(value.mv_data);
    Bytes data(begin, begin + value.mv_size);
    mdb_txn_abort(txn);
    return data;
  }
  void fill(const std::vector<std::string>& names, ByteView data) override {
    std::vector<Change> changes;
    for (const std::string& name : names) {
      changes.push_back({&name, data, false});
      if (changes.size() < 1024 && &name != &names.back()) continue;
      commit(changes);
      changes.clear();
    }
  }
  void reopen() override {
    mdb_env_close(env_);
    open();
  }

  void commit(const std::vector<Change>& changes) override {
    MDB_txn* txn = nullptr;
    check(mdb_txn_begin(env_, nullptr, 0, &txn));
    for (const Change& change : changes) {
      MDB_val key = value_of(change.name->data(), change.name->size());
      MDB_val value = value_of(change.data.data(), change.data.size());
      check(change.removes ? mdb_del(txn, table_, &key, nullptr)
                           : mdb_put(txn, table_, &key, &value, 0));
    }
    check(mdb_txn_commit(txn));
  }

 private:
  void open() {
    check(mdb_env_create(&env_));
    check(mdb_env_set_mapsize(env_, kMapPerByte * place_.capacity()));
    check(mdb_env_set_maxreaders(env_, kReaders));
    check(mdb_env_open(env_, place_.directory.c_str(), MDB_NORDAHEAD, 0600));
    MDB_txn* txn = nullptr;
    check(mdb_txn_begin(env_, nullptr, 0, &txn));
    check(mdb_dbi_open(txn, nullptr, 0, &table_));
    check(mdb_txn_commit(txn));
  }

  PeerPlace place_;
  MDB_env* env_ = nullptr;
  MDB_dbi table_ = 0;
};

class LmdbGroupedPeer final : public LmdbPeer {
 public:
  using LmdbPeer::LmdbPeer;
  void put(const std::string& name, ByteView data) override { queue_.run({&name, data, false}); }
  void remove(const std::string& name) override { queue_.run({&name, {}, true}); }

 private:
  GroupingQueue queue_{[this](const std::vector<Change>& changes) { commit(changes); }};
};

}  // namespace

std::unique_ptr<KeyValuePeer> open_lmdb(const PeerPlace& place) {
  return std::make_unique<LmdbPeer>(place);
}

PeerKind lmdb_peer() { return {"lmdb", "LMDB", kSettings, open_lmdb}; }

PeerKind lmdb_grouped_peer() {
  return {"lmdb_grouped", "LMDB, grouped",
          std::string(kSettings) + "; changes that come during a commit share the next one",
          [](const PeerPlace& place) { return std::make_unique<LmdbGroupedPeer>(place); }};
}

}  // namespace hexad::bench
