// A pool of small objects whose metadata may be more than its fast tier holds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "benchmarks/tiers/tier_home.h"
#include "core/hexad.h"
#include "io/system.h"

namespace hexad::bench {

inline constexpr std::uint64_t kTierObjectBytes = 100;  // in the object's record

// In no order, so that neighbours have nothing in common.
std::string tier_object_name(std::uint64_t index);

struct TierPlace {
  std::filesystem::path slow;  // a directory on the disk that is measured
  std::filesystem::path fast;  // ... on what is faster
  std::uint64_t objects = 0;
  std::uint64_t memory = 0;  // bytes, for pieces of runs while objects are looked up
};

class TierPool {
 public:
  // Makes it, with all objects in it.
  explicit TierPool(const TierPlace& place);
  ~TierPool();
  TierPool(const TierPool&) = delete;
  TierPool& operator=(const TierPool&) = delete;

  enum class Memory : std::uint8_t {
    kLittle,  // TierPlace::memory
    kLeast,   // as much as every store has for pieces of runs, however little it was given
  };
  // Closes it, and opens it with a fast tier of that size which holds nothing yet. Returns when the
  // index is there, or has been given up.
  Store& open(const TierRoom& room, Memory memory = Memory::kLittle);
  Store& store() { return *store_; }
  void close();
  // What look-ups need at most: the runs as they were when it was opened, parity not counted.
  std::uint64_t metadata_bytes() const { return metadata_bytes_; }

 private:
  void fill();

  const TierPlace place_;
  const std::unique_ptr<io::System> system_;
  PoolDescription pool_;
  std::unique_ptr<kv::IndexHome> home_;
  std::optional<Store> store_;
  std::uint64_t metadata_bytes_ = 0;
};

// Pieces of runs that were read from the data devices, since the store was opened.
std::uint64_t device_reads(Store& store);

}  // namespace hexad::bench
