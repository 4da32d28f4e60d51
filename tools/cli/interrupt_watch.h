// Ends a run that was interrupted and goes on all the same: in a wait that nothing can cut short.
#pragma once

#include <functional>
#include <memory>

#include "io/executor.h"

namespace hexad::tools {

class InterruptWatch {
 public:
  // How long an interrupted run may take to end by itself, in order.
  static constexpr io::Nanos kGrace = 800'000'000;

  // Both are called on a thread of the watch, and outlive it. `interrupted`: asked every 100 ms.
  // `end`: told, once, when that has been true for kGrace; it may end the process. Where the system
  // refuses the thread nothing is watched.
  InterruptWatch(io::Executor& executor, std::function<bool()> interrupted,
                 std::function<void()> end);
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;
  ~InterruptWatch();

 private:
  void watch();

  io::Executor& executor_;
  const std::function<bool()> interrupted_;
  const std::function<void()> end_;
  io::Mutex mutex_;
  io::CondVar over_changed_;
  bool over_ = false;  // guarded by mutex_
  std::unique_ptr<io::Thread> thread_;
};

}  // namespace hexad::tools
