#include "io/thread_queue.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/units.h"

namespace hexad::io {

namespace {

// Linux moves at most 2 GiB less a page at once.
constexpr std::uint64_t kLargestTransfer = 1_GiB;

Status transfer(const IoRequest& request, int fd) {
  std::uint64_t moved = 0;
  while (moved < request.length) {
    const iovec part{request.data + moved, std::min(request.length - moved, kLargestTransfer)};
    const auto offset = static_cast<off_t>(request.offset + moved);
    const int flags =
        request.op == IoOp::kWrite && request.mode == WriteMode::kDurable ? RWF_DSYNC : 0;
    const ssize_t rc = request.op == IoOp::kRead ? preadv2(fd, &part, 1, offset, 0)
                                                 : pwritev2(fd, &part, 1, offset, flags);
    if (rc < 0) {
      if (errno == EINTR || errno == EAGAIN) continue;
      return request_error(request, errno);
    }
    if (rc == 0) return short_request_error(request, moved);
    moved += static_cast<std::uint64_t>(rc);
  }
  return {};
}

// The requests of one batch that nobody has started yet: [next, count).
struct Pending {
  IoBatch* batch;
  std::size_t next;
  std::size_t count;
};

class ThreadQueue final : public FileQueue {
 public:
  explicit ThreadQueue(int threads) {
    HEXAD_ASSERT(threads > 0);
    for (int i = 0; i < threads; ++i) pool_.emplace_back([this] { serve(); });
  }

  ~ThreadQueue() override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      HEXAD_ASSERT(pending_.empty());
      closing_ = true;
    }
    work_.notify_all();
    for (std::thread& thread : pool_) thread.join();
  }

  int attach(int) override { return -1; }
  void detach(int) override {}
  std::string name() const override { return "threads"; }

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
  std::vector<std::thread> pool_;
};

}  // namespace

Status execute_request(const IoRequest& request) {
  const int fd = static_cast<const FileDevice*>(request.device)->fd();
  switch (request.op) {
    case IoOp::kRead:
    case IoOp::kWrite:
      return transfer(request, fd);
    case IoOp::kFlush:
      while (fdatasync(fd) != 0) {
        if (errno != EINTR) return request_error(request, errno);
      }
      return {};
    case IoOp::kDiscard:
      while (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                       static_cast<off_t>(request.offset),
                       static_cast<off_t>(request.length)) != 0) {
        if (is_refused_discard(errno)) return {};
        if (errno != EINTR) return request_error(request, errno);
      }
      return {};
  }
  return {};
}

std::unique_ptr<FileQueue> make_thread_queue(int threads) {
  return std::make_unique<ThreadQueue>(threads);
}

}  // namespace hexad::io
