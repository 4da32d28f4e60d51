// A folder of a test's own, removed with everything in it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/assert.h"

namespace hexad::io::testing {

class TemporaryDirectory {
 public:
  // kMemory: where syncs cost nothing, if there is such a place.
  enum class On { kDisk, kMemory };
  explicit TemporaryDirectory(On on = On::kDisk) {
    const char* base = std::getenv("TEST_TMPDIR");
    std::error_code none;
    if (on == On::kMemory && std::filesystem::is_directory("/dev/shm", none)) base = "/dev/shm";
    std::string name = std::string(base != nullptr ? base : "/tmp") + "/hexad-XXXXXX";
    HEXAD_ASSERT(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }
  std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace hexad::io::testing
