// What look-ups and puts cost whose metadata is a fraction or a multiple of the fast tier.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "benchmarks/commit_path/report.h"

namespace hexad::bench {

struct TiersPlan {
  std::filesystem::path slow;  // a directory on the disk that is measured
  std::filesystem::path fast;  // ... on what is faster
  std::uint64_t objects = 0;
  std::uint64_t memory = 0;         // bytes, for pieces of runs; of RocksDB, for its blocks
  std::vector<double> multiples{};  // metadata, in multiples of the fast tier
  std::uint64_t warm = 0;           // look-ups before those that are measured
  std::uint64_t look_ups = 0;       // measured, of each kind
  double seconds = 0;               // of each run of puts
  unsigned repetitions = 0;         // of the runs of puts
  std::string only;                 // a row; empty: all
};

// Rows get/SKEW/MULTIPLE/WHO, hits/SKEW/MULTIPLE/hexad and puts/MULTIPLE. Says on standard error
// what it is doing.
std::vector<Row> measure_tiers(const TiersPlan& plan);

// One line for each row.
std::string tiers_table(const Settings& settings, const std::vector<Row>& rows);

}  // namespace hexad::bench
