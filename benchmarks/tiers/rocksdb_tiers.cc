#include "benchmarks/tiers/rocksdb_tiers.h"

#ifdef HEXAD_HAS_ROCKSDB

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/metadata.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>

#include <chrono>
#include <thread>

#include "base/units.h"
#include "benchmarks/commit_path/must.h"

namespace hexad::bench {

namespace {

constexpr const char* kSettings =
    "db_paths of a fast directory of the same size and a slow one without a limit; direct reads, "
    "no "
    "compression, a cache as large as hexad's memory for pieces of runs; bloom filters of 10 bits; "
    "levels of 4 MiB and twice as much each, so that it can fill a fast directory";

void check(const rocksdb::Status& status) {
  if (!status.ok()) die("RocksDB: " + status.ToString());
}

class Tiers final : public RocksdbTiers {
 public:
  explicit Tiers(const RocksdbTiersPlace& place) : place_(place) {
    std::filesystem::create_directories(place.slow);
    std::filesystem::create_directories(place.fast);
    open();
  }

  void put(const std::string& name, ByteView data) override {
    rocksdb::WriteOptions options;
    options.disableWAL = true;
    check(db_->Put(options, name,
                   rocksdb::Slice(reinterpret_cast<const char*>(data.data()), data.size())));
  }
  void settle() override {
    check(db_->Flush({}));
    for (;;) {
      std::uint64_t left = 0;
      for (const char* what : {"rocksdb.compaction-pending", "rocksdb.num-running-compactions",
                               "rocksdb.num-running-flushes"}) {
        std::uint64_t value = 0;
        if (db_->GetIntProperty(what, &value)) left += value;
      }
      if (left == 0) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    check(db_->Close());
    db_.reset();
    open();
  }
  Bytes get(const std::string& name) override {
    rocksdb::PinnableSlice found;
    check(db_->Get({}, db_->DefaultColumnFamily(), name, &found));
    const auto* begin = reinterpret_cast<const std::byte*>(found.data());
    return Bytes(begin, begin + found.size());
  }
  std::uint64_t bytes() override { return bytes_in(""); }
  std::uint64_t fast_bytes() override { return bytes_in(place_.fast.string()); }

 private:
  // In that directory; empty: in all.
  std::uint64_t bytes_in(const std::string& directory) {
    std::vector<rocksdb::LiveFileMetaData> files;
    db_->GetLiveFilesMetaData(&files);
    std::uint64_t sum = 0;
    for (const rocksdb::LiveFileMetaData& file : files) {
      if (directory.empty() || file.db_path == directory) sum += file.size;
    }
    return sum;
  }
  void open() {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.compression = rocksdb::kNoCompression;
    options.use_direct_reads = true;
    options.db_paths = {{place_.fast.string(), place_.fast_bytes}, {place_.slow.string(), 1_TiB}};
    options.write_buffer_size = 4_MiB;
    options.target_file_size_base = 2_MiB;
    options.max_bytes_for_level_base = 4_MiB;
    options.max_bytes_for_level_multiplier = 2;
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = rocksdb::NewLRUCache(place_.memory);
    table.cache_index_and_filter_blocks = true;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    rocksdb::DB* db = nullptr;
    check(rocksdb::DB::Open(options, place_.slow.string(), &db));
    db_.reset(db);
  }

  const RocksdbTiersPlace place_;
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace

std::unique_ptr<RocksdbTiers> open_rocksdb_tiers(const RocksdbTiersPlace& place) {
  return std::make_unique<Tiers>(place);
}

std::string rocksdb_tiers_settings() {
  return "version " + rocksdb::GetRocksVersionAsString() + "; " + kSettings;
}

}  // namespace hexad::bench

#else

namespace hexad::bench {

std::unique_ptr<RocksdbTiers> open_rocksdb_tiers(const RocksdbTiersPlace&) { return nullptr; }

std::string rocksdb_tiers_settings() { return "not in this build: install librocksdb-dev"; }

}  // namespace hexad::bench

#endif
