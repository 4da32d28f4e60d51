// RocksDB over a fast and a slow directory (its `db_paths`), as a peer of a fast tier that is too
// small.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/bytes.h"

namespace hexad::bench {

struct RocksdbTiersPlace {
  std::filesystem::path slow;  // directories of its own
  std::filesystem::path fast;
  std::uint64_t fast_bytes = 0;
  std::uint64_t memory = 0;  // bytes of its cache of blocks
};

class RocksdbTiers {
 public:
  virtual ~RocksdbTiers() = default;
  // Durable with the next settle().
  virtual void put(const std::string& name, ByteView data) = 0;
  // Returns when nothing is compacted any more; what was in memory is not from here on.
  virtual void settle() = 0;
  virtual Bytes get(const std::string& name) = 0;
  virtual std::uint64_t bytes() = 0;       // of its tables
  virtual std::uint64_t fast_bytes() = 0;  // ... in the fast directory
};

// Null: it is not in this build.
std::unique_ptr<RocksdbTiers> open_rocksdb_tiers(const RocksdbTiersPlace& place);
// What it runs with, for people; or what is missing.
std::string rocksdb_tiers_settings();

}  // namespace hexad::bench
