#include "benchmarks/peers/peer.h"

#ifdef HEXAD_HAS_ROCKSDB

#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>

#include <thread>

#include "benchmarks/commit_path/must.h"

namespace hexad::bench {

namespace {

void check(const rocksdb::Status& status) {
  if (!status.ok()) die("RocksDB: " + status.ToString());
}

rocksdb::Slice slice(ByteView data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

class RocksdbPeer final : public Peer {
 public:
  explicit RocksdbPeer(const PeerPlace& place) : directory_(place.directory) {
    std::filesystem::create_directories(directory_);
    durable_.sync = true;
    open();
  }

  void put(const std::string& name, ByteView data) override {
    check(db_->Put(durable_, name, slice(data)));
  }
  void remove(const std::string& name) override { check(db_->Delete(durable_, name)); }
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
    rocksdb::Options options;
    options.create_if_missing = true;
    options.IncreaseParallelism(static_cast<int>(std::thread::hardware_concurrency()));
    options.compression = rocksdb::kNoCompression;
    options.enable_blob_files = true;
    options.min_blob_size = 1024;
    options.enable_blob_garbage_collection = true;
    options.use_direct_reads = true;
    rocksdb::BlockBasedTableOptions table;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    rocksdb::DB* db = nullptr;
    check(rocksdb::DB::Open(options, directory_.string(), &db));
    db_.reset(db);
  }

  const std::filesystem::path directory_;
  rocksdb::WriteOptions durable_;
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace

PeerKind rocksdb_peer() {
  return {"rocksdb", "RocksDB, BlobDB",
          "version " + rocksdb::GetRocksVersionAsString() +
              "; sync=true, values of 1 KiB and more in blob files, their garbage collection on, "
              "no compression, bloom filters of 10 bits, direct reads, IncreaseParallelism",
          [](const PeerPlace& place) { return std::make_unique<RocksdbPeer>(place); }};
}

}  // namespace hexad::bench

#else

namespace hexad::bench {
PeerKind rocksdb_peer() {
  return {"rocksdb", "RocksDB, BlobDB", "not in this build: install librocksdb-dev", nullptr};
}
}  // namespace hexad::bench

#endif
