#include "io/thread_queue.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <utility>

#include "io/file_request.h"
#include "io/os_thread.h"

namespace hexad::io {

namespace {

// The requests of one batch that nobody has started yet: [next, count).
struct Pending {
  IoBatch* batch;
  std::size_t next;
  std::size_t count;
};

class ThreadQueue final : public FileQueue {
 public:
  ThreadQueue() = default;
  Status start(int threads) {
    HEXAD_ASSERT(threads > 0);
    for (int i = 0; i < threads; ++i) {
      Result<OsThread> thread = OsThread::start("hexad-io", [this] { serve(); });
      if (!thread.ok()) return pool_.empty() ? Status(thread.error()) : Status();
      pool_.push_back(std::move(thread).value());
    }
    return {};
  }

  ~ThreadQueue() override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      HEXAD_ASSERT(pending_.empty());
      closing_ = true;
    }
    work_.notify_all();
    for (OsThread& thread : pool_) thread.join();
  }

  int attach(int) override { return -1; }
  void detach(int) override {}
  std::string name() const override { return "threads"; }
  Nanos now() const override { return steady_now(); }
  Execute executes_alone() const override { return execute_request; }

  void wait(IoBatch& batch) override {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      const auto mine = std::find_if(pending_.begin(), pending_.end(),
                                     [&](const Pending& one) { return one.batch == &batch; });
      if (mine == pending_.end()) break;
      run_next(mine, lock);
    }
    completed_.wait(lock, [&] { return batch.complete(); });
  }

 protected:
  // The pool takes all of it: what this thread began it could not leave.
  bool wait_for(IoBatch& batch, Nanos limit) override {
    work_.notify_all();
    std::unique_lock<std::mutex> lock(mutex_);
    return completed_.wait_for(lock, std::chrono::nanoseconds(limit),
                               [&] { return batch.complete(); });
  }

  void submit_requests(IoBatch& batch) override {
    const std::size_t count = batch.requests.size();
    // Whoever waits takes a share; a batch with a callback is for the pool alone.
    const std::size_t helpers = batch.done ? count : count - 1;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      pending_.push_back({&batch, 0, count});
    }
    for (std::size_t i = 0; i < std::min(helpers, pool_.size()); ++i) work_.notify_one();
  }

 private:
  void serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      work_.wait(lock, [&] { return closing_ || !pending_.empty(); });
      if (pending_.empty()) return;
      run_next(pending_.begin(), lock);
    }
  }

  // Takes the next request of `from` and executes it with the lock released.
  void run_next(std::list<Pending>::iterator from, std::unique_lock<std::mutex>& lock) {
    IoBatch& batch = *from->batch;
    IoRequest& request = batch.requests[from->next];
    if (++from->next == from->count) pending_.erase(from);
    lock.unlock();
    request.status = check(request);
    if (request.status.ok()) request.status = execute_request(request);
    answer(request);
    const bool last = finish(batch);
    lock.lock();
    // Under the lock, so that a waiter cannot have looked before and sleep after.
    if (last) completed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable work_;       // pending_ has something, or closing_
  std::condition_variable completed_;  // some batch is complete
  std::list<Pending> pending_;         // guarded by mutex_; oldest first
  bool closing_ = false;               // guarded by mutex_
  std::deque<OsThread> pool_;
};

}  // namespace

Result<std::unique_ptr<FileQueue>> make_thread_queue(int threads) {
  auto queue = std::make_unique<ThreadQueue>();
  HEXAD_TRY(queue->start(threads));
  return std::unique_ptr<FileQueue>(std::move(queue));
}

}  // namespace hexad::io
