// Threads that go on for those who are called back (io/recall.h) while they wait for a device.
//
//   C15 who is called back while it waits for requests of a group takes nothing away and answers
//       nobody: a thread of its own, a substitute, does what was left to do, as the leader would
//       have. Where the system refuses that thread, the leader stays
//
// Lock: its owner's; join() and try_start() take it.
#pragma once

#include <cstdint>
#include <list>
#include <memory>

#include "base/thread_annotations.h"
#include "io/executor.h"

namespace hexad::core {

class Substitutes {
 public:
  // All outlive it. `changed` is told when is_starting() may have changed.
  Substitutes(io::Executor& executor, io::Mutex& mutex, io::CondVar& changed)
      : executor_(executor), mutex_(mutex), changed_(changed) {}

  // Whether a thread of its own runs `rest` (C15). False: the caller does.
  bool try_start(io::Task rest) HEXAD_EXCLUDES(mutex_);
  // Somebody is in try_start(). Under the lock.
  bool is_starting() const HEXAD_NO_THREAD_SAFETY_ANALYSIS { return starting_ > 0; }
  // Waits for those that have been started.
  void join() HEXAD_EXCLUDES(mutex_);

 private:
  struct Substitute {
    std::unique_ptr<io::Thread> thread;
    bool over = false;  // it does nothing more but end
  };

  io::Executor& executor_;
  io::Mutex& mutex_;
  io::CondVar& changed_;
  // Joined by the next one when they are over, or join().
  std::list<Substitute> substitutes_ HEXAD_GUARDED_BY(mutex_);
  std::uint64_t starting_ HEXAD_GUARDED_BY(mutex_) = 0;
};

}  // namespace hexad::core
