#include "benchmarks/commit_path/process_io.h"

#include <fstream>
#include <string>

#include "benchmarks/commit_path/must.h"

namespace hexad::bench {

std::uint64_t process_bytes_written() {
  std::ifstream io("/proc/self/io");
  std::string name;
  std::uint64_t value = 0;
  while (io >> name >> value) {
    if (name == "write_bytes:") return value;
  }
  die("/proc/self/io does not say what was written");
}

}  // namespace hexad::bench
