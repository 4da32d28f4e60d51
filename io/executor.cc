#include "io/executor.h"

#include <pthread.h>

#include <chrono>
#include <ctime>
#include <deque>
#include <thread>
#include <utility>

#include "base/assert.h"
#include "base/os_mutex.h"
#include "io/os_thread.h"

namespace hexad::io {

namespace {

class SystemClock final : public Clock {
 public:
  Nanos now() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  Nanos wall_time() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
};

class SystemThread final : public Thread {
 public:
  explicit SystemThread(OsThread thread) : thread_(std::move(thread)) {}
  void join() override { thread_.join(); }

 private:
  OsThread thread_;
};

class ThreadExecutor final : public Executor {
 public:
  explicit ThreadExecutor(int pool_threads) : pool_size_(static_cast<std::size_t>(pool_threads)) {
    HEXAD_ASSERT(pool_threads > 0);
  }

  ~ThreadExecutor() override {
    {
      const OsLock lock(mutex_);
      closing_ = true;
    }
    work_.notify_all();
    // Tasks may post more tasks, and those may start another pool thread, until the last is done.
    for (std::size_t i = 0;; ++i) {
      OsThread* thread = nullptr;
      {
        const OsLock lock(mutex_);
        if (i == pool_.size()) break;
        thread = &pool_[i];  // stays where it is
      }
      thread->join();
    }
  }

  Result<std::unique_ptr<Thread>> try_start(const std::string& name, Task task) override {
    HEXAD_TRY_ASSIGN(OsThread thread, OsThread::start(name, std::move(task)));
    return std::unique_ptr<Thread>(std::make_unique<SystemThread>(std::move(thread)));
  }

  Status start_pool() override {
    const OsLock lock(mutex_);
    return pool_.empty() ? add_thread() : Status();
  }

  void post(Task task) noexcept override {
    {
      const OsLock lock(mutex_);
      tasks_.push_back(std::move(task));
      if (tasks_.size() > idle_ && pool_.size() < pool_size_) {
        // Refused: those that there are do it, a bit later.
        const Status added = add_thread();
        HEXAD_ASSERT(added.ok() || !pool_.empty());
      }
    }
    work_.notify_one();
  }

  void sleep_for(Nanos duration) override {
    std::this_thread::sleep_for(std::chrono::nanoseconds(duration));
  }

  Clock& clock() override { return clock_; }

 private:
  Status add_thread() HEXAD_REQUIRES(mutex_) {
    HEXAD_TRY_ASSIGN(OsThread thread, OsThread::start("hexad-pool", [this] { serve(); }));
    pool_.push_back(std::move(thread));
    return {};
  }

  void serve() {
    OsLock lock(mutex_);
    for (;;) {
      while (tasks_.empty() && !closing_) {
        ++idle_;
        work_.wait(lock);
        --idle_;
      }
      if (tasks_.empty()) return;
      Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      task = nullptr;  // what it holds is let go before the lock is taken again
      lock.lock();
    }
  }

  const std::size_t pool_size_;
  SystemClock clock_;
  OsMutex mutex_;
  std::condition_variable work_;
  std::deque<Task> tasks_ HEXAD_GUARDED_BY(mutex_);
  std::deque<OsThread> pool_ HEXAD_GUARDED_BY(mutex_);
  std::size_t idle_ HEXAD_GUARDED_BY(mutex_) = 0;
  bool closing_ HEXAD_GUARDED_BY(mutex_) = false;
};

}  // namespace

std::unique_ptr<Executor> make_thread_executor(int pool_threads) {
  return std::make_unique<ThreadExecutor>(pool_threads);
}

void Mutex::lock_fiber() {
  fibers_->interleave();
  while (held_) fibers_->park(this, -1);
  held_ = true;
}

bool Mutex::try_lock_for(Nanos duration) {
  if (fibers_ != nullptr) {
    fibers_->interleave();
    const Nanos deadline = fibers_->fiber_time() + duration;
    while (held_) {
      if (!fibers_->park(this, deadline) && held_) return false;
    }
    held_ = true;
    return true;
  }
  if (mutex_.try_lock()) return true;
  constexpr Nanos kSecond = 1'000'000'000;
  timespec end{};
  ::clock_gettime(CLOCK_REALTIME, &end);
  const Nanos rest = end.tv_nsec + duration % kSecond;
  end.tv_sec += duration / kSecond + rest / kSecond;
  end.tv_nsec = rest % kSecond;
  return ::pthread_mutex_timedlock(mutex_.native_handle(), &end) == 0;
}

void Mutex::unlock_fiber() {
  HEXAD_ASSERT(held_);
  held_ = false;
  fibers_->unpark_one(this);
}

void CondVar::wait(Lock& lock) {
  if (fibers_ != nullptr) {
    // Nothing runs between the unlock and the park: a notification cannot fall in between.
    lock.unlock();
    fibers_->park(this, -1);
    lock.lock();
    return;
  }
  std::unique_lock<std::mutex> native(lock.mutex()->mutex_, std::adopt_lock);
  condition_.wait(native);
  native.release();
}

bool CondVar::wait_for(Lock& lock, Nanos duration) {
  if (fibers_ != nullptr) {
    lock.unlock();
    const bool woken = fibers_->park(this, executor_.clock().now() + duration);
    lock.lock();
    return woken;
  }
  std::unique_lock<std::mutex> native(lock.mutex()->mutex_, std::adopt_lock);
  const std::cv_status status = condition_.wait_for(native, std::chrono::nanoseconds(duration));
  native.release();
  return status == std::cv_status::no_timeout;
}

void CondVar::notify_one() {
  if (fibers_ != nullptr) {
    fibers_->unpark_one(this);
  } else {
    condition_.notify_one();
  }
}

void CondVar::notify_all() {
  if (fibers_ != nullptr) {
    fibers_->unpark_all(this);
  } else {
    condition_.notify_all();
  }
}

}  // namespace hexad::io
