#include "benchmarks/commit_path/must.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace hexad::bench {

namespace {

std::mutex mutex;
std::filesystem::path to_remove;  // guarded by mutex; empty: none

}  // namespace

WorkingDirectory::WorkingDirectory(const std::filesystem::path& parent) {
  std::string pattern = (parent / "hexad-commit-path-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) die("cannot make a directory in " + parent.string());
  path_ = pattern;
  const std::lock_guard<std::mutex> lock(mutex);
  to_remove = path_;
}

WorkingDirectory::~WorkingDirectory() {
  const std::lock_guard<std::mutex> lock(mutex);
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  to_remove.clear();
}

void die(const std::string& message) {
  // Kept locked: whoever fails at the same time waits here for the end.
  static std::mutex last;
  last.lock();
  std::fprintf(stderr, "commit_path_bench: %s\n", message.c_str());
  std::error_code ignored;
  if (!to_remove.empty()) std::filesystem::remove_all(to_remove, ignored);
  _exit(1);
}

}  // namespace hexad::bench
