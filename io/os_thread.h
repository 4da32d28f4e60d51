// A thread of the operating system, whose refusal is an error and not an exception: where a process
// may have no more threads, or no memory for the stack of one, std::thread throws.
#pragma once

#include <pthread.h>

#include <functional>
#include <string>
#include <utility>

#include "base/error.h"

namespace hexad::io {

// Moves; destroying one that was not joined is a bug and asserts.
class OsThread {
 public:
  // Runs `body`, which throws nothing, on a thread of its own. The kernel keeps 15 characters of
  // the name. Errors: the system refuses the thread; nothing is left of it, and the hint says which
  // limits there are.
  static Result<OsThread> start(const std::string& name, std::function<void()> body);
  OsThread(OsThread&& other) noexcept
      : thread_(other.thread_), running_(std::exchange(other.running_, false)) {}
  OsThread& operator=(OsThread&&) = delete;
  ~OsThread();

  // Waits until `body` has returned. Once.
  void join();

 private:
  OsThread() = default;

  pthread_t thread_{};
  bool running_ = false;  // or ended, and not joined
};

}  // namespace hexad::io
