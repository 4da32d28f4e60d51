// The rows about peers: the same operations on each of them, on one disk, in the same minutes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "benchmarks/commit_path/report.h"

namespace hexad::bench {

struct PeersPlan {
  std::filesystem::path directory;  // empty, on the disk that is measured
  std::uint64_t device_size = 0;    // bytes of each of hexad's six files
  std::uint64_t small_objects = 0;  // of 4 KiB, names of a lap
  std::uint64_t large_objects = 0;  // of 64 KiB
  double seconds = 0;               // of each timed run
  unsigned repetitions = 3;         // rounds of all rows
  bool fio = true;                  // whether there is one
  bool drop_caches = true;          // the kernel's, before gets
  std::string only;                 // a workload or a peer; empty: all
};

// The settings of every peer, and who is missing.
Settings peer_settings();
// Whether this process may drop the kernel's caches.
bool may_drop_caches();
// Rows WORKLOAD/PEER. Says on standard error what it is doing.
std::vector<Row> measure_peers(const PeersPlan& plan);

}  // namespace hexad::bench
