// How the programs of this folder end when something fails: the message on standard error, the
// working directory removed, exit status 1. A benchmark has no caller to hand an error to.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "base/error.h"

namespace hexad::bench {

// A directory of our own, removed with all it holds: by the destructor, by die(), or when the
// program is interrupted or told to end. Made before any other thread.
class WorkingDirectory {
 public:
  // Makes a new one inside `parent`.
  explicit WorkingDirectory(const std::filesystem::path& parent);
  ~WorkingDirectory();
  WorkingDirectory(const WorkingDirectory&) = delete;
  WorkingDirectory& operator=(const WorkingDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

[[noreturn]] void die(const std::string& message);

inline void must(const Status& status) {
  if (!status.ok()) die(status.error().to_string());
}

template <typename T>
T must(Result<T> result) {
  if (!result.ok()) die(result.error().to_string());
  return std::move(result).value();
}

}  // namespace hexad::bench
