#include "benchmarks/commit_path/must.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace hexad::bench {

namespace {

std::mutex mutex;
std::vector<std::string> to_remove;  // guarded by mutex

// Blocked everywhere but in the thread below.
sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

// One thread gets them, and may do what a handler may not.
void clean_up_on_signals(const sigset_t& signals) {
  std::thread([signals] {
    int signal = 0;
    sigwait(&signals, &signal);
    die("interrupted");
  }).detach();
}

}  // namespace

WorkingDirectory::WorkingDirectory(const std::filesystem::path& parent) {
  // Before there is anything to remove.
  const sigset_t signals = block_signals();
  std::string pattern = (parent / "hexad-bench-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) die("cannot make a directory in " + parent.string());
  path_ = pattern;
  bool is_first = false;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    is_first = to_remove.empty();
    to_remove.push_back(path_.string());
  }
  if (is_first) clean_up_on_signals(signals);
}

WorkingDirectory::~WorkingDirectory() {
  const std::lock_guard<std::mutex> lock(mutex);
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  std::erase(to_remove, path_.string());
}

void die(const std::string& message) {
  // Kept locked: whoever fails at the same time waits here for the end.
  static std::mutex last;
  last.lock();
  std::fprintf(stderr, "benchmark: %s\n", message.c_str());
  if (to_remove.empty()) _exit(1);
  // The other threads end with this, so none makes a file again behind what has been removed.
  std::vector<const char*> words = {"sh", "-c", "rm -rf -- \"$@\"; exit 1", "sh"};
  for (const std::string& path : to_remove) words.push_back(path.c_str());
  words.push_back(nullptr);
  execv("/bin/sh", const_cast<char* const*>(words.data()));
  std::error_code ignored;
  for (const std::string& path : to_remove) std::filesystem::remove_all(path, ignored);
  _exit(1);
}

}  // namespace hexad::bench
