// A folder of a test's own, removed with everything in it.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/assert.h"

namespace hexad::io::testing {

class TemporaryDirectory {
 public:
  TemporaryDirectory() : TemporaryDirectory(usual_base()) {}
  explicit TemporaryDirectory(const std::string& base) {
    std::string name = base + "/hexad-XXXXXX";
    HEXAD_ASSERT(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }
  std::string path(const std::string& name) const { return path_ + "/" + name; }

  // Where syncing costs nothing, so that commits follow each other at once; else the usual place.
  static std::string quick_base() {
    return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : usual_base();
  }

 private:
  static std::string usual_base() {
    const char* base = std::getenv("TEST_TMPDIR");
    return base != nullptr ? base : "/tmp";
  }

  std::string path_;
};

}  // namespace hexad::io::testing
