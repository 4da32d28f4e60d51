// Stores of keys and values that are measured beside hexad, with the same promise: what commit()
// has returned from is on the disk, all of it or nothing. Any thread may call.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hexad::bench {

struct KeyChange {
  std::string key;
  std::string value;
};

class Rival {
 public:
  virtual ~Rival() = default;
  virtual std::optional<std::string> get(std::string_view key) = 0;
  virtual void commit(const std::vector<KeyChange>& changes) = 0;
};

// LMDB as it comes: every commit is synced.
std::unique_ptr<Rival> open_lmdb_rival(const std::filesystem::path& directory);

// RocksDB with its defaults and every write synced. Its library is looked for when this is called,
// by the names that Debian gives it, so that nothing needs it to be built; null: it is not there.
std::unique_ptr<Rival> open_rocksdb_rival(const std::filesystem::path& directory);
bool has_rocksdb();

}  // namespace hexad::bench
