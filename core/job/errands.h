// What a call has to do that may wait for devices, and that may not end half-way: where the calling
// thread may be called back (io/recall.h), or would wait for ever, a thread of its own does it, so
// that the caller can leave.
//
//   ER1  Work that was left goes on to its end, so it owns what it uses, but for the engine's
//        parts
//   ER2  Nothing of the caller's transaction has happened: what was left makes way for others, or
//        is taken back by those who let go of it
//   ER3  Before the engine's parts end, wait() has returned: of what was left nothing uses them
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "io/executor.h"
#include "io/recall.h"

namespace hexad::core {

class Errands {
 public:
  explicit Errands(io::Executor& executor)
      : executor_(executor), mutex_(executor), changed_(executor) {}

  // Runs `work`, which can be copied, and returns what it does; `what`: for the message. Errors:
  // kUnavailable, the thread was called back. Where nobody calls it back, and where the system
  // refuses a thread, that is `work()` and no more. Any thread.
  template <typename Work>
  Status run(std::string_view what, Work&& work) {
    if (io::Recall::here() == nullptr) return work();
    return run_apart(std::forward<Work>(work), [what] { return called_back(what); });
  }
  // Runs `work` on a thread of its own and returns what it does, unless `leave`, which is asked now
  // and then, gives the error with which to leave it to itself. Where the system refuses a thread
  // that is `work()` and no more. Any thread.
  using Leave = std::function<std::optional<Error>()>;
  Status run_apart(std::function<Status()> work, const Leave& leave);
  // Until all that was left has come to its end.
  void wait();

 private:
  struct Errand {
    std::unique_ptr<io::Thread> thread;
    std::optional<Status> outcome;
  };

  // Of the errands of others, too, some end.
  static std::optional<Error> called_back(std::string_view what);
  void join_ended();

  io::Executor& executor_;
  io::Mutex mutex_;  // a leaf; below, and outcomes
  io::CondVar changed_;
  std::list<std::shared_ptr<Errand>> left_ HEXAD_GUARDED_BY(mutex_);
};

}  // namespace hexad::core
