#include "io/fork_mark.h"

#include <pthread.h>

#include <atomic>

namespace hexad::io {

namespace {

// A property of the process, so there is one for all.
std::atomic<std::uint64_t> forks = 0;

}  // namespace

ForkMark::ForkMark() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);  // fails for lack of memory only: then no child is noticed
  forks_ = forks.load(std::memory_order_relaxed);
}

bool ForkMark::in_child() const { return forks.load(std::memory_order_relaxed) != forks_; }

}  // namespace hexad::io
