// What it costs to overwrite objects in a store that is full to so much: bytes written by cause,
// rates, refused puts and space, beside stores that take a whole disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "benchmarks/commit_path/report.h"

namespace hexad::bench {

struct SpacePlan {
  std::filesystem::path directory;  // empty, on the disk that is measured
  std::uint64_t device_size = 0;    // bytes of each of hexad's six files
  std::vector<std::string> sizes;   // ids of space_sizes()
  std::vector<std::string> loads;   // ids of space_loads()
  std::vector<unsigned> fills;      // percent of what fits
  unsigned peers_at = 90;           // the peers have as many objects as fit at this fill, or less
  unsigned callers = 16;            // that put, one object each at a time
  double warm_laps = 1;             // a lap: as many puts as there are objects; not measured
  double laps = 1;                  // measured
  double seconds = 600;             // of each lap at most
  std::string only;                 // a row; empty: all
};

// What there is to choose from.
std::vector<std::string> space_sizes();
std::vector<std::string> space_loads();

// Rows SIZE/LOAD/FILL/WHO. Says on standard error what it is doing.
std::vector<Row> measure_space_curve(const SpacePlan& plan);

// One line for each row.
std::string space_curve(const Settings& settings, const std::vector<Row>& rows);

}  // namespace hexad::bench
