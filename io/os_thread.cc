#include "io/os_thread.h"

#include <memory>

#include "base/assert.h"
#include "io/no_unwinding.h"
#include "io/os_error.h"

namespace hexad::io {

namespace {

struct Start {
  std::string name;
  std::function<void()> body;
};

void* run(void* argument) noexcept {
  const std::unique_ptr<Start> start(static_cast<Start*>(argument));
  const NoUnwinding none("what a thread of the store was doing");
  pthread_setname_np(pthread_self(), start->name.substr(0, 15).c_str());
  start->body();
  return nullptr;
}

}  // namespace

Result<OsThread> OsThread::start(const std::string& name, std::function<void()> body) {
  auto start = std::make_unique<Start>(Start{name, std::move(body)});
  OsThread thread;
  if (const int number = pthread_create(&thread.thread_, nullptr, run, start.get()); number != 0) {
    Error error = os_error(number, "the system refuses the thread " + name);
    error.hint =
        "Raise the limit on threads (ulimit -u, or pids.max of the control group) or on address "
        "space (ulimit -v).";
    return error;
  }
  static_cast<void>(start.release());  // the thread's
  thread.running_ = true;
  return thread;
}

OsThread::~OsThread() { HEXAD_ASSERT(!running_); }

void OsThread::join() {
  HEXAD_ASSERT(running_);
  HEXAD_ASSERT(pthread_join(thread_, nullptr) == 0);
  running_ = false;
}

}  // namespace hexad::io
