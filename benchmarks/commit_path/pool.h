// The pools that are measured: 4+2 over six files of one disk and one fast directory on it, all
// options at their defaults.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/noise.h"  // IWYU pragma: export
#include "core/hexad.h"

namespace hexad::bench {

enum class Age : std::uint8_t {
  kFresh,  // just made: files preallocated, never written
  // Every byte of the files written before the store is made; then one lap of the log, and slabs
  // for half of the capacity put to use and given back.
  kWarm,
};

// A file with every block written and synced, past the page cache.
void write_file(const std::filesystem::path& path, std::uint64_t size);

class BenchPool {
 public:
  // `directory` exists and is the pool's own; removed in the end. `device_size`: bytes of each of
  // the six files.
  BenchPool(const std::filesystem::path& directory, std::uint64_t device_size, Age age);
  ~BenchPool();
  BenchPool(const BenchPool&) = delete;
  BenchPool& operator=(const BenchPool&) = delete;

  Store& store() { return *store_; }
  // Closes and opens again.
  void reopen(const RuntimeOptions& options);
  const std::vector<std::string>& device_files() const { return pool_.devices; }
  // User bytes that measurements may keep alive: a quarter of what fits.
  std::uint64_t live_limit() const { return live_limit_; }

 private:
  void write_log_lap();
  void use_slabs();

  std::filesystem::path directory_;
  PoolDescription pool_;
  std::optional<Store> store_;
  std::uint64_t live_limit_ = 0;
};

// The name of object `index` of a family of names.
std::string object_name(const std::string& family, std::uint64_t index);
// Puts objects [0, count) of `size` bytes, and waits for a checkpoint.
void put_all(Store& store, const std::string& family, std::uint64_t count, std::uint64_t size);
// Removes objects [0, count), whether there or not, and waits for a checkpoint.
void remove_all(Store& store, const std::string& family, std::uint64_t count);

// What the store and its devices have counted since it was opened.
struct Counts {
  std::map<std::string, std::uint64_t> counters;  // doc/counters.md
  std::uint64_t bytes_read = 0;                   // from devices
  std::uint64_t bytes_written = 0;                // to devices, all causes

  std::uint64_t of(const std::string& name) const;
};
Counts counts(Store& store);
// What came on top. `before` is of the same opening.
Counts operator-(const Counts& after, const Counts& before);

}  // namespace hexad::bench
