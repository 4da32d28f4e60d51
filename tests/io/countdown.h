// Opens once, for whoever waits, when it has been counted down: threads or fibers.
#pragma once

#include "io/executor.h"

namespace hexad::io::testing {

class Countdown {
 public:
  Countdown(Executor& executor, int count) : mutex_(executor), zero_(executor), count_(count) {}
  void count_down() {
    const Lock lock(mutex_);
    if (--count_ == 0) zero_.notify_all();
  }
  void wait() {
    Lock lock(mutex_);
    zero_.wait(lock, [&] { return count_ <= 0; });
  }

 private:
  Mutex mutex_;
  CondVar zero_;
  int count_;  // guarded by mutex_
};

}  // namespace hexad::io::testing
