// Threads, injected. The engine above io starts threads, locks and waits only through this file,
// so that the whole engine runs either on real threads or, from one seed, on the fibers of a
// simulation (io/sim/sim_executor.h), where exactly one fiber runs at a time.
//
// Mutex and CondVar cost what std::mutex and std::condition_variable cost, plus one predictable
// branch; a Lock looks twice whether an exception is on its way.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/thread_annotations.h"
#include "io/clock.h"
#include "io/no_unwinding.h"

namespace hexad::io {

class FiberScheduler;  // io/sim/sim_executor.h

using Task = std::function<void()>;

// A started thread (or fiber). Destroying one that was not joined is a bug and asserts.
class Thread {
 public:
  virtual ~Thread() = default;
  // Waits until the task has returned. Once.
  virtual void join() = 0;
};

class Executor {
 public:
  virtual ~Executor() = default;
  // Starts a thread of its own for a long-lived task. `name` shows in debuggers and traces.
  // Errors: the system refuses the thread.
  virtual Result<std::unique_ptr<Thread>> try_start(const std::string& name, Task task) = 0;
  // The same for tests and tools, which cannot go on without it.
  std::unique_ptr<Thread> start(const std::string& name, Task task) {
    return try_start(name, std::move(task)).value();
  }
  // From then on post() has a thread to run on, whatever the system refuses later. Any number of
  // times. Errors: the system refuses the thread.
  virtual Status start_pool() { return {}; }
  // Runs a short task soon, on a shared pool thread; tasks may run in any order and at once.
  // Throws nothing: where there is no memory for it, the process ends.
  virtual void post(Task task) = 0;
  virtual void sleep_for(Nanos duration) = 0;
  virtual Clock& clock() = 0;
  // The scheduler when this is a simulation, else null. For Mutex and CondVar alone.
  virtual FiberScheduler* fibers() { return nullptr; }
};

// Real threads: post() runs on at most `pool_threads` (> 0) threads, joined by the destructor after
// all posted tasks have run. The first one is started by start_pool(), or by the first task, which
// asserts that the system does not refuse it; others when there is work for them, and where they
// are refused there are fewer. The clock is the operating system's.
std::unique_ptr<Executor> make_thread_executor(int pool_threads);

// What a fiber scheduler has to offer to Mutex and CondVar; implemented by the simulation.
class FiberScheduler {
 public:
  virtual ~FiberScheduler() = default;
  // Suspends the running fiber on `channel` until woken or, with deadline >= 0, until then.
  // Returns false when the deadline came first.
  virtual bool park(const void* channel, Nanos deadline) = 0;
  // Makes one (or all) of the fibers parked on `channel` runnable, oldest first.
  virtual void unpark_one(const void* channel) = 0;
  virtual void unpark_all(const void* channel) = 0;
  // A place where another fiber may run first, as the seed decides: before every lock.
  virtual void interleave() {}
  // Of the simulation, as deadlines are.
  virtual Nanos fiber_time() const = 0;
};

// Not recursive. Lock order: doc/invariants.md.
class HEXAD_CAPABILITY("mutex") Mutex {
 public:
  explicit Mutex(Executor& executor) : fibers_(executor.fibers()) {}
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() HEXAD_ACQUIRE() {
    if (fibers_ == nullptr) {
      mutex_.lock();
    } else {
      lock_fiber();
    }
  }
  bool try_lock() HEXAD_TRY_ACQUIRE(true) {
    if (fibers_ == nullptr) return mutex_.try_lock();
    if (held_) return false;
    held_ = true;
    return true;
  }
  // False when `duration` passed first, by the wall clock: one that is set back makes it longer.
  bool try_lock_for(Nanos duration) HEXAD_TRY_ACQUIRE(true);
  void unlock() HEXAD_RELEASE() {
    if (fibers_ == nullptr) {
      mutex_.unlock();
    } else {
      unlock_fiber();
    }
  }

 private:
  friend class CondVar;
  void lock_fiber();
  void unlock_fiber();

  FiberScheduler* fibers_;
  std::mutex mutex_;
  bool held_ = false;  // fibers only
};

// As std::unique_lock, but no exception leaves it while it is held: what its mutex guards may be
// half changed, so the process ends before others can see that (io/no_unwinding.h).
template <typename M>
class HEXAD_SCOPED_CAPABILITY BasicLock {
 public:
  explicit BasicLock(M& mutex) HEXAD_ACQUIRE(mutex)
      : mutex_(mutex), exceptions_(std::uncaught_exceptions()) {
    lock();
  }
  // Of one that this thread holds. Mostly a function with a Status has taken it, so the thread
  // safety analysis has to believe it.
  BasicLock(M& mutex, std::adopt_lock_t) HEXAD_ASSERT_CAPABILITY(mutex) HEXAD_REQUIRES(mutex)
      : mutex_(mutex), exceptions_(std::uncaught_exceptions()), held_(true) {}
  ~BasicLock() HEXAD_RELEASE() {
    if (!held_) return;
    if (std::uncaught_exceptions() > exceptions_) stop_unwinding("what a lock guards");
    mutex_.unlock();
  }
  BasicLock(const BasicLock&) = delete;
  BasicLock& operator=(const BasicLock&) = delete;

  void lock() HEXAD_ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }
  void unlock() HEXAD_RELEASE() {
    held_ = false;
    mutex_.unlock();
  }
  M* mutex() { return &mutex_; }

 private:
  M& mutex_;
  int exceptions_;  // that were on their way when it was made
  bool held_ = false;
};
using Lock = BasicLock<Mutex>;

class CondVar {
 public:
  explicit CondVar(Executor& executor) : executor_(executor), fibers_(executor.fibers()) {}
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;

  // As std::condition_variable: releases the lock while waiting; wakes up spuriously. The thread
  // safety analysis does not know which mutex a lock that is passed on holds, nor that `ready` may
  // require it.
  void wait(Lock& lock) HEXAD_NO_THREAD_SAFETY_ANALYSIS;
  template <typename Predicate>
  void wait(Lock& lock, Predicate ready) HEXAD_NO_THREAD_SAFETY_ANALYSIS {
    while (!ready()) wait(lock);
  }
  // False when `duration` passed first. Spurious wake-ups return true.
  bool wait_for(Lock& lock, Nanos duration) HEXAD_NO_THREAD_SAFETY_ANALYSIS;
  void notify_one();
  void notify_all();

 private:
  Executor& executor_;
  FiberScheduler* fibers_;
  std::condition_variable condition_;
};

}  // namespace hexad::io
