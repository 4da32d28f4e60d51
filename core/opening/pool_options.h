// What every label carries besides the device's own description: enough to find the rest of the
// store from any one device. doc/format.md#pool-options
#pragma once

#include <string>
#include <vector>

#include "alloc/device_layout.h"
#include "base/error.h"
#include "base/ids.h"
#include "compression/policy.h"
#include "ec/profile.h"

namespace hexad::core {

struct PooledDevice {
  DeviceId id = 0;
  alloc::DeviceRole role = alloc::DeviceRole::kData;
  std::uint32_t slab_units = 0;
  std::uint32_t slab_count = 0;
  bool operator==(const PooledDevice&) const = default;
};

struct PoolOptions {
  ec::Profile profile;
  compression::Policy compression;            // of new collections
  std::vector<std::string> fast_directories;  // absolute, as given to format
  std::vector<PooledDevice> devices;          // by id
  bool operator==(const PoolOptions&) const = default;
};

std::string encode_pool_options(const PoolOptions& options);
// Errors: kCorruption, kUnsupported; survives any input.
Result<PoolOptions> decode_pool_options(std::string_view bytes);

// Where things lie in a fast directory.
std::string fast_log_path(const std::string& directory);
std::string fast_index_path(const std::string& directory);
// Of what is kept of blocks of runs (kv/run/resident_pieces.h): in the first of these; empty: there
// is none.
std::string resident_path(const std::vector<std::string>& fast_directories);
// Of a store with these fast directories; without any the index is in memory, under a name.
std::string index_directory(const std::vector<std::string>& fast_directories);

}  // namespace hexad::core
