// The rows about many small things: transactions of metadata beside key-value stores, listings,
// clones and splits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "benchmarks/commit_path/report.h"

namespace hexad::bench {

struct TransactionsPlan {
  std::filesystem::path directory;  // empty, on the disk that is measured
  std::uint64_t device_size = 0;    // bytes of each of the six files
  std::uint64_t objects = 0;        // of the large collection
  std::uint64_t small = 10'000;     // of the small one
  std::uint64_t keys = 0;           // of the omap that is cloned
  double seconds = 0;               // of each timed run
  unsigned repetitions = 3;
  std::string only;  // a row; empty: all
};

// What the key-value stores run with, and who is missing.
Settings key_value_settings();

std::vector<Row> measure_transactions(const TransactionsPlan& plan);

}  // namespace hexad::bench
