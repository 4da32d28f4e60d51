// The rows about metadata: what it takes, what keeping it costs, and how soon it is back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "benchmarks/commit_path/report.h"

namespace hexad::bench {

struct MetadataPlan {
  std::filesystem::path directory;  // empty, on the disk that is measured
  std::filesystem::path program;    // this one: `fill` and `open` run as processes of their own
  std::uint64_t device_size = 0;    // bytes of each of the six files
  std::uint64_t many = 0;           // objects of the pool that is opened again
  std::uint64_t large_objects = 0;  // of 64 KiB
  std::uint64_t small_objects = 0;  // of 4 KiB, which are overwritten
  double seconds = 0;               // of each timed run
  unsigned repetitions = 3;         // of pairs of timed runs
  std::string only;                 // a row; empty: all
};

std::vector<Row> measure_metadata(const MetadataPlan& plan);

}  // namespace hexad::bench
