// What this process takes.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace hexad::io::testing {

struct ProcessMemory {
  std::uint64_t address_space = 0;  // bytes
  std::uint64_t resident = 0;       // bytes
};

inline ProcessMemory process_memory() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  std::uint64_t resident_pages = 0;
  file >> pages >> resident_pages;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return {pages * page, resident_pages * page};
}

}  // namespace hexad::io::testing
