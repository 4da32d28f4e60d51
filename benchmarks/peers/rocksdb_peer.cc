#include "benchmarks/peers/key_value_peer.h"

#ifdef HEXAD_HAS_ROCKSDB

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>
#include <rocksdb/write_batch.h>

#include "base/units.h"
#include "benchmarks/commit_path/must.h"
#include "core/hexad.h"

namespace hexad::bench {

namespace {

// What RocksDB's guide to its set-up suggests for all loads, and its page on BlobDB for large
// values; as much cache as hexad has.
constexpr const char* kSettings =
    "sync=true; values of 1 KiB and more in blob files with their garbage collection; no "
    "compression; direct reads; a cache of hexad's default size for blocks and blobs; "
    "level_compaction_dynamic_level_bytes, max_background_jobs=6, bytes_per_sync=1 MiB, blocks of "
    "16 KiB, indexes and bloom filters of 10 bits in the cache, those of level 0 pinned";

void check(const rocksdb::Status& status) {
  if (!status.ok()) die("RocksDB: " + status.ToString());
}

rocksdb::Slice slice(ByteView data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

rocksdb::Options options() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.enable_blob_files = true;
  options.min_blob_size = 1_KiB;
  options.enable_blob_garbage_collection = true;
  options.use_direct_reads = true;
  options.level_compaction_dynamic_level_bytes = true;
  options.max_background_jobs = 6;
  options.bytes_per_sync = 1_MiB;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(RuntimeOptions().cache_size);
  table.block_size = 16_KiB;
  table.cache_index_and_filter_blocks = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  options.blob_cache = table.block_cache;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

class RocksdbPeer final : public KeyValuePeer {
 public:
  explicit RocksdbPeer(const PeerPlace& place) : directory_(place.directory) {
    std::filesystem::create_directories(directory_);
    durable_.sync = true;
    open();
  }

  void commit(const std::vector<Change>& changes) override {
    rocksdb::WriteBatch batch;
    for (const Change& change : changes) {
      check(change.removes ? batch.Delete(*change.name)
                           : batch.Put(*change.name, slice(change.data)));
    }
    check(db_->Write(durable_, &batch));
  }
  Bytes get(const std::string& name) override {
    rocksdb::PinnableSlice found;
    check(db_->Get({}, db_->DefaultColumnFamily(), name, &found));
    const auto* begin = reinterpret_cast<const std::byte*>(found.data());
    return Bytes(begin, begin + found.size());
  }
  void fill(const std::vector<std::string>& names, ByteView data) override {
    for (const std::string& name : names) check(db_->Put({}, name, slice(data)));
    check(db_->Flush({}));
  }
  void reopen() override {
    check(db_->Close());
    db_.reset();
    open();
  }

 private:
  void open() {
    rocksdb::DB* db = nullptr;
    check(rocksdb::DB::Open(options(), directory_.string(), &db));
    db_.reset(db);
  }

  const std::filesystem::path directory_;
  rocksdb::WriteOptions durable_;
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace

std::unique_ptr<KeyValuePeer> open_rocksdb(const PeerPlace& place) {
  return std::make_unique<RocksdbPeer>(place);
}

PeerKind rocksdb_peer() {
  return {"rocksdb", "RocksDB, BlobDB",
          "version " + rocksdb::GetRocksVersionAsString() + "; " + kSettings, open_rocksdb};
}

}  // namespace hexad::bench

#else

namespace hexad::bench {

std::unique_ptr<KeyValuePeer> open_rocksdb(const PeerPlace&) { return nullptr; }

PeerKind rocksdb_peer() {
  return {"rocksdb", "RocksDB, BlobDB", "not in this build: install librocksdb-dev", nullptr};
}

}  // namespace hexad::bench

#endif
