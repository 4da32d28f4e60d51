// A pool with very many small objects, made by a process that is killed amid commits, and opened
// again by others. Each step is a process of its own, so that what it takes is its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace hexad::bench {

struct ManyObjects {
  std::filesystem::path directory;  // of the pool
  std::uint64_t count = 0;
  std::uint64_t device_size = 0;  // bytes of each of the six files
  bool index = true;              // false: a file in its place keeps the store from making one

  static constexpr std::uint64_t kObjectBytes = 100;
};

struct Filled {
  double seconds = 0;
  double cpu_us = 0;              // processor time, over all
  std::uint64_t index_bytes = 0;  // written, over all
  std::uint64_t run_bytes = 0;    // written, with merges and parity, over all
};
// Makes the pool, puts the objects in an order that has nothing to do with their names, prints what
// that took, and dies by SIGKILL with further commits in flight. Does not return.
[[noreturn]] void fill_and_die(const ManyObjects& what);
Filled filled_from_json(const std::string& text);

struct Reopened {
  double open_seconds = 0;
  double first_get_us = 0;
  double get_p50_us = 0;  // random gets without a cache, when the index answers if it ever does
  double get_p99_us = 0;
  double index_seconds = 0;  // from the opening until the index answers, not the runs
  bool index_made = false;   // it was a new one, not the old one verified
  std::uint64_t objects = 0;
  std::uint64_t replayed_log = 0;      // bytes of the log in use when it was opened
  std::uint64_t most_resident = 0;     // bytes, ever, with pages of files that were mapped
  std::uint64_t anonymous_memory = 0;  // bytes at the end, without those
  std::uint64_t index_bytes = 0;       // on the fast tier
  std::uint64_t run_bytes = 0;         // data cells of runs
};
// Opens for writing, reads and compares what it reads; waits for the index if there is to be one.
Reopened open_again(const ManyObjects& what);

std::string to_json(const Reopened& reopened);
Reopened reopened_from_json(const std::string& text);

}  // namespace hexad::bench
