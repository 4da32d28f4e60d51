#include "io/os/thread_queue.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/os_mutex.h"
#include "io/os/file_request.h"
#include "io/os/lone_aio.h"
#include "io/os_thread.h"

namespace hexad::io {

namespace {

// Threads that read at the same time and need none of ours for it; the others are handed to those.
constexpr std::size_t kLoneReads = 32;

// A request that no thread has taken yet.
struct Item {
  IoBatch* batch;
  IoRequest* request;
  LoneAio* late = nullptr;  // the kernel has it there, and its answer is to be waited for
};

// What one device has. All of it is guarded by the queue's mutex.
struct Lane {
  std::condition_variable work;  // pending has something, or closing
  std::deque<Item> pending;      // oldest first
  std::deque<OsThread> threads;
  std::deque<Item*> running;  // what threads execute; on their stacks
  std::size_t idle = 0;       // of the threads
  bool closing = false;
};

// A thread asleep in wait(); lives on its stack, listed in waiters_.
struct Waiter {
  explicit Waiter(const IoBatch* of) : batch(of) {}
  const IoBatch* batch;
  std::condition_variable wake;
};

class ThreadQueue final : public FileQueue {
 public:
  explicit ThreadQueue(int threads)
      : most_threads_(static_cast<std::size_t>(threads)), lone_reads_(kLoneReads) {
    HEXAD_ASSERT(threads > 0);
  }

  ~ThreadQueue() override {
    wait_for_started();
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (lanes_[i] != nullptr) detach(static_cast<int>(i));
    }
  }

  Result<int> attach(int) override {
    auto lane = std::make_unique<Lane>();
    const OsLock lock(mutex_);
    HEXAD_TRY(add_thread(*lane));
    const auto free = std::find(lanes_.begin(), lanes_.end(), nullptr);
    const auto index = free - lanes_.begin();
    if (free == lanes_.end()) {
      lanes_.push_back(std::move(lane));
    } else {
      *free = std::move(lane);
    }
    return static_cast<int>(index);
  }

  void detach(int index) override {
    OsLock lock(mutex_);
    // Its threads still look at it.
    const std::unique_ptr<Lane> lane = std::move(lanes_[static_cast<std::size_t>(index)]);
    HEXAD_ASSERT(lane->pending.empty());
    lane->closing = true;
    lane->work.notify_all();
    lock.unlock();
    for (OsThread& thread : lane->threads) thread.join();
  }

  std::string name() const override { return "threads"; }
  Nanos now() const override { return steady_now(); }
  Execute executes_alone() const override { return execute_request; }

  // Executes what it may: a request that may be left is a thread's, from where this one need not
  // come back.
  void wait(IoBatch& batch) noexcept override {
    OsLock lock(mutex_);
    while (const std::optional<Item> mine = take_one_of(batch)) run(*mine, lock);
    Waiter self(&batch);
    waiters_.push_back(&self);
    self.wake.wait(lock, [&] { return batch.complete(); });
    std::erase(waiters_, &self);
  }

 protected:
  // The threads take all of it: what this one began it could not leave.
  bool wait_for(IoBatch& batch, Nanos limit) noexcept override {
    OsLock lock(mutex_);
    if (batch.complete()) return true;
    // Not by the devices of the batch: one that has answered may have been released since.
    for (const std::unique_ptr<Lane>& lane : lanes_) {
      if (lane != nullptr && has_pending(*lane, batch)) rouse(*lane);
    }
    Waiter self(&batch);
    waiters_.push_back(&self);
    self.wake.wait_for(lock, std::chrono::nanoseconds(limit), [&] { return batch.complete(); });
    std::erase(waiters_, &self);
    return batch.complete();
  }

  bool run_requests_for(IoBatch& batch, Nanos limit) override {
    IoRequest& first = batch.requests.front();
    const bool is_lone =
        batch.requests.size() == 1 && first.op == IoOp::kRead && first.device->starter() == nullptr;
    if (!is_lone || !check(first).ok()) {
      return FileQueue::run_requests_for(batch, limit);
    }
    if (read_from_cache(first)) {
      finish(batch);
      return true;
    }
    LoneAio* const lone = first.device->direct() ? lone_reads_.take() : nullptr;
    if (lone == nullptr) return FileQueue::run_requests_for(batch, limit);
    send(first);
    const LoneAio::Answer answer =
        lone->read(fd_of(first), {first.data, first.length}, first.offset, limit);
    if (answer.outcome == LoneAio::Outcome::kLate) {
      const OsLock lock(mutex_);
      Lane& lane = lane_of(first);
      lane.pending.push_back({&batch, &first, lone});
      rouse(lane);
      return false;
    }
    lone_reads_.release(lone);
    // What failed or came in part is read once more, and said by the usual way.
    if (!is_whole(first, answer)) return FileQueue::run_requests_for(batch, limit);
    finish(batch);
    return true;
  }

  void give_up_requests(Device& device) override {
    if (device.starter() != nullptr) return give_up_started(device);
    std::vector<IoBatch*> finished;
    OsLock lock(mutex_);
    const int index = static_cast<FileDevice&>(device).queue_index();
    if (index < 0 || lanes_[static_cast<std::size_t>(index)] == nullptr) return;  // released
    Lane& lane = *lanes_[static_cast<std::size_t>(index)];
    // Another device may have the lane by now.
    for (Item* item : lane.running) {
      if (item->request->device != &device) continue;
      if (!item->request->may_be_left || item->request->left) continue;
      finished.push_back(item->batch);
      const Left left = leave(*item->request);
      item->batch = left.batch;
      item->request = left.request;
    }
    std::erase_if(lane.pending, [&](const Item& item) {
      if (item.request->device != &device || !item.request->may_be_left) return false;
      item.request->status = given_up_error(device);
      answer(*item.request);
      finished.push_back(item.batch);
      return true;
    });
    for (IoBatch* batch : finished) {
      lock.unlock();
      const bool last = finish(*batch);
      lock.lock();
      if (last) wake(batch);
    }
  }

  void submit_requests(IoBatch& batch) override {
    const std::size_t count = batch.requests.size();
    // Whoever waits takes the last one, unless it may be left; a batch with a callback is for the
    // threads alone.
    const bool all = batch.done || batch.requests.back().may_be_left ||
                     batch.requests.back().device->starter() != nullptr;
    const std::size_t helped = all ? count : count - 1;
    const Own own = check_own(batch);
    if (own.valid > 0) start(batch, own.valid);
    if (own.valid == count) return;
    std::size_t over = own.refused;
    if (own.valid + own.refused < count) {
      const OsLock lock(mutex_);
      for (std::size_t i = 0; i < count; ++i) {
        IoRequest& request = batch.requests[i];
        if (request.device->starter() != nullptr) continue;
        if (request.device->is_given_up()) {  // its threads may be in the kernel, all of them
          request.status = given_up_error(*request.device);
          answer(request);
          ++over;
          continue;
        }
        Lane& lane = lane_of(request);
        lane.pending.push_back({&batch, &request});
        if (i < helped) rouse(lane);
      }
    }
    // The others may be complete by now, and the batch gone with the last of these.
    for (; over > 0; --over) finish(batch);
  }

  void completed(const IoBatch* batch, Told) override {
    const OsLock lock(mutex_);
    wake(batch);
  }

 private:
  // Requests of a batch to starters, whose status is set.
  struct Own {
    std::size_t valid = 0;
    std::size_t refused = 0;
  };
  static Own check_own(IoBatch& batch) {
    Own own;
    for (IoRequest& request : batch.requests) {
      if (request.device->starter() == nullptr) continue;
      request.status = check(request);
      ++(request.status.ok() ? own.valid : own.refused);
    }
    return own;
  }

  static int fd_of(const IoRequest& request) {
    return static_cast<const FileDevice*>(request.device)->fd();
  }
  static bool is_whole(const IoRequest& request, const LoneAio::Answer& answer) {
    return answer.outcome == LoneAio::Outcome::kAnswered && answer.result >= 0 &&
           static_cast<std::uint64_t>(answer.result) == request.length;
  }

  Lane& lane_of(const IoRequest& request) HEXAD_REQUIRES(mutex_) {
    const auto* device = static_cast<const FileDevice*>(request.device);
    return *lanes_[static_cast<std::size_t>(device->queue_index())];
  }

  Status add_thread(Lane& lane) HEXAD_REQUIRES(mutex_) {
    HEXAD_TRY_ASSIGN(OsThread thread, OsThread::start("hexad-io", [this, &lane] { serve(lane); }));
    lane.threads.push_back(std::move(thread));
    return {};
  }

  // There is something for its threads to do.
  void rouse(Lane& lane) HEXAD_REQUIRES(mutex_) {
    // Refused: those that there are do it, a bit later.
    if (lane.pending.size() > lane.idle && lane.threads.size() < most_threads_) {
      add_thread(lane).ignore();
    }
    lane.work.notify_one();
  }

  void serve(Lane& lane) {
    OsLock lock(mutex_);
    for (;;) {
      ++lane.idle;
      lane.work.wait(lock, [&] { return lane.closing || !lane.pending.empty(); });
      --lane.idle;
      if (lane.pending.empty()) return;
      const Item item = lane.pending.front();
      lane.pending.pop_front();
      run(item, lock);
    }
  }

  static bool has_pending(const Lane& lane, const IoBatch& batch) {
    return std::any_of(lane.pending.begin(), lane.pending.end(),
                       [&](const Item& item) { return item.batch == &batch; });
  }

  // The last one that no thread has taken yet.
  std::optional<Item> take_one_of(const IoBatch& batch) HEXAD_REQUIRES(mutex_) {
    std::deque<Item>* there = nullptr;
    std::deque<Item>::iterator last;
    for (const std::unique_ptr<Lane>& lane : lanes_) {
      if (lane == nullptr) continue;
      for (auto at = lane->pending.begin(); at != lane->pending.end(); ++at) {
        if (at->batch != &batch || at->request->may_be_left) continue;
        if (there != nullptr && at->request < last->request) continue;
        there = &lane->pending;
        last = at;
      }
    }
    if (there == nullptr) return std::nullopt;
    const Item item = *last;
    there->erase(last);
    return item;
  }

  // Executes it with the lock released. Meanwhile give_up_requests() may put another request in its
  // place, and the one of before be gone. The thread safety analysis does not know what a lock that
  // is passed on holds.
  void run(Item item, OsLock& lock) HEXAD_REQUIRES(mutex_) HEXAD_NO_THREAD_SAFETY_ANALYSIS {
    std::deque<Item*>& running = lane_of(*item.request).running;
    running.push_back(&item);
    Status status = check(*item.request);
    if (status.ok()) send(*item.request);
    const IoRequest request = *item.request;
    lock.unlock();
    bool done = false;
    if (item.late != nullptr) {
      done = is_whole(request, {LoneAio::Outcome::kAnswered, item.late->take()});
      lone_reads_.release(item.late);
    }
    if (done) {
      status = Status();
    } else if (status.ok()) {
      status = execute_request(request);
    }
    lock.lock();
    std::erase(running, &item);
    lock.unlock();
    item.request->status = std::move(status);
    answer(*item.request);
    const bool last = finish(*item.batch);
    lock.lock();
    if (last) wake(item.batch);
  }

  // Under the lock, so that a waiter cannot have looked before and sleep after. Where nobody waits
  // the batch may be gone.
  void wake(const IoBatch* batch) HEXAD_REQUIRES(mutex_) {
    for (Waiter* waiter : waiters_) {
      if (waiter->batch == batch) waiter->wake.notify_one();
    }
  }

  const std::size_t most_threads_;  // of each device
  LoneAios lone_reads_;
  OsMutex mutex_;
  std::vector<std::unique_ptr<Lane>> lanes_ HEXAD_GUARDED_BY(mutex_);  // by queue index; null: free
  std::vector<Waiter*> waiters_ HEXAD_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<FileQueue> make_thread_queue(int threads) {
  return std::make_unique<ThreadQueue>(threads);
}

}  // namespace hexad::io
