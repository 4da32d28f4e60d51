// What tests of devices that take requests and do not answer begin with: objects of every kind in
// simulated pools, and disks that fall silent.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/core/noise.h"
#include "tests/core/sim_origin.h"

namespace hexad::testing {

inline constexpr io::Nanos kSecond = 1'000'000'000;
inline constexpr int kObjects = 8;

// Packed ones, private stripes, one of several pages.
inline std::string value_of(int i) {
  return noise(i < 4 ? 3000 + 500 * i : i < 7 ? 300'000 : 1'500'000, i);
}

inline std::string fill(Store& store) {
  for (int i = 0; i < kObjects; ++i) {
    Transaction t;
    t.put(kDefaultCollection, std::to_string(i), value_of(i));
    const Result<Lsn> done = store.commit(std::move(t));
    if (!done.ok()) return done.error().to_string();
  }
  return "";
}

inline SimPoolOptions large_disks() {
  SimPoolOptions options;
  options.device_size = 16_MiB;
  return options;
}

inline RuntimeOptions without_cache() {
  RuntimeOptions options;
  options.cache_size = 0;
  return options;
}

// Nothing, or which object is not as it was.
inline std::string read_all(Store& store) {
  for (int i = 0; i < kObjects; ++i) {
    const Result<Bytes> found = store.get(kDefaultCollection, std::to_string(i));
    if (!found.ok()) return std::to_string(i) + ": " + found.error().to_string();
    if (as_text(*found) != std::string_view(value_of(i)))
      return std::to_string(i) + ": other bytes";
  }
  return "";
}

inline std::string warning_of(Store& store) {
  std::string all;
  for (const std::string& warning : store.status().warnings) all += warning + "\n";
  return all;
}

// From now on these disks answer no read of cells; what they hold is answered by release().
inline void hang_reads(io::SimSystem& system, const std::vector<std::string>& disks) {
  system.set_hook([disks](const io::SimOp& op) -> std::optional<io::FaultKind> {
    if (op.op != io::IoOp::kRead) return std::nullopt;
    for (const std::string& disk : disks) {
      if (op.disk == disk) return io::FaultKind::kHang;
    }
    return std::nullopt;
  });
}

inline void release(io::SimSystem& system, const std::vector<std::string>& disks) {
  system.set_hook(nullptr);
  for (const std::string& disk : disks) system.disk(disk).release_hung();
}

}  // namespace hexad::testing
