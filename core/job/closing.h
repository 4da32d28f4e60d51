// How a store is closed. The work is a job's (core/jobs/close_job.h), so that whoever closes it can
// leave when a device does not answer, and come back.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/error.h"
#include "io/executor.h"

namespace hexad::core {

class Closing {
 public:
  explicit Closing(io::Executor& executor) : mutex_(executor), changed_(executor) {}

  // It takes no commits any more. Any thread.
  bool is_closed() const { return closed_.load(std::memory_order_acquire); }
  enum class Caller : std::uint8_t { kFirst, kLater };
  // From now on. kLater: it was before.
  Caller close() {
    return closed_.exchange(true, std::memory_order_acq_rel) ? Caller::kLater : Caller::kFirst;
  }
  // Starts the work and waits for its outcome, for the thread whose close() was the first, or after
  // one that has left; others get OK at once. `caller`: what its close() has said. `start` is
  // called under the lock and wakes a job. `silent`: asked every second; the error with which to
  // leave.
  Status wait(Caller caller, const std::function<void()>& start,
              const std::function<std::optional<Error>()>& silent);
  // The work is done. A thread of the store.
  void finish(Status outcome);
  // Nobody has left it to itself, or it is done.
  bool may_end();

 private:
  std::atomic<bool> closed_{false};
  io::Mutex mutex_;                                        // a leaf but for the scheduler's; below
  bool left_ HEXAD_GUARDED_BY(mutex_) = false;             // nobody waits for it any more
  std::optional<Status> result_ HEXAD_GUARDED_BY(mutex_);  // nothing: it has not come to that
  io::CondVar changed_;
};

}  // namespace hexad::core
