// The rows of the commit path: every figure that architecture.md asks of puts, overwrites, gets and
// deletes, each beside what fio makes of the same disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "benchmarks/commit_path/report.h"

namespace hexad::bench {

struct Plan {
  std::filesystem::path directory;  // on the disk to be measured
  std::uint64_t device_size = 0;    // bytes of each of the six files
  std::uint64_t space_bytes = 0;    // user bytes put for each row about space
  double seconds = 5;               // of each run
  double long_seconds = 60;         // of the row with checkpoints
  unsigned repetitions = 3;
  bool fio = true;
  std::string only;  // a row's id, all else left out; empty: everything
};

// In the order of the table. Says on standard error what it is doing.
std::vector<Row> measure(const Plan& plan);

}  // namespace hexad::bench
