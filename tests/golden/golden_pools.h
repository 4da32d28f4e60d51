// Pools of the format as it was when they were made, in files beside this one, and what they hold.
// A program that reads the format has to read them for ever, so what is here for one of them never
// changes; what a pool of the format may hold on top goes into a new one.
//
// An image, compressed by zstd, is: "hexad pool 1\n", the LSN of each transaction of the script as
// decimals, a line; then for each device, the fast one last, a line with its size in bytes and how
// many blocks of 4 KiB are not zeros, and for each of these its index as le64 and its bytes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/store.h"
#include "io/memory_system.h"
#include "tests/core/store_model.h"
#include "tests/io/temporary.h"

namespace hexad::testing {

// The pools, by the name of their file without ".pool.zst".
std::vector<std::string> golden_names();

// Makes the pool anew, by today's program, and returns its image: of devices as a power cut behind
// the last commit leaves them, a checkpoint behind them.
std::string make_golden(const std::string& name);

class GoldenPool {
 public:
  // Loads the image of tests/golden, onto devices in memory and an empty fast directory.
  explicit GoldenPool(const std::string& name);

  PoolDescription pool;  // all its devices
  std::uint32_t m = 0;
  Model model;  // what it holds
  io::MemorySystem memory;

 private:
  io::testing::TemporaryDirectory directory_;
};

}  // namespace hexad::testing
