#include "io/os/uring_queue.h"

#include <fcntl.h>
#include <liburing.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/units.h"
#include "io/os/file_request.h"
#include "io/os/lone_ring.h"
#include "io/os_error.h"
#include "io/os_thread.h"

namespace hexad::io {

namespace {

constexpr std::uint64_t kLargestTransfer = 1_GiB;  // Linux: 2 GiB less a page
constexpr std::size_t kReapAtOnce = 64;
constexpr int kMostRetries = 1000;
// Threads that read at the same time and have a ring of their own for it; the others use the one
// that all share.
constexpr std::size_t kLoneRings = 32;
constexpr int kMostCanceled = 10;
// The user data of what only wakes whoever reaps.
constexpr std::uint32_t kNoFlight = ~std::uint32_t{0};

// One request that the kernel has or is about to get. Its index is the completion's user data.
struct Flight {
  IoBatch* batch = nullptr;
  IoRequest* request = nullptr;  // null: the entry is free
  std::uint64_t moved = 0;       // bytes transferred so far
  int retries = 0;
  bool callback = false;  // batch->done is set: the batch counts in callbacks_
  bool flushing = false;  // its bytes are written, and a flush of its own is under way
  // It is late on this ring; what the kernel has here is a poll of that.
  LoneRing* lone = nullptr;
  bool here = false;  // a thread of ours executes it
};

struct Completion {
  std::uint32_t flight;
  int result;
};

// Somebody asleep in wait(); lives on that thread's stack, listed in waiters_.
struct Waiter {
  explicit Waiter(IoBatch& of) : batch(of) {}
  IoBatch& batch;
  std::condition_variable wake;
  bool promoted = false;  // is the reaper now
};

// Who reaps. Completions are taken off the ring by one thread at a time, the reaper. The role is a
// token, guarded by reap_mutex_; the reaper itself works without that lock.
//
//   Q1  reaping_ is true exactly while some thread has the role or has been promoted to it and is
//       on its way. The role goes from hand to hand without becoming free in between.
//   Q2  The role is free only if no thread sleeps in wait() and callbacks_ is 0. So whenever a
//       completion is owed to somebody, somebody is blocked on the ring or about to be:
//         wait()    takes a free role, and otherwise enters itself in waiters_, which makes the
//                   reaper promote it (or another) before it lets go;
//         submit()  of a batch with a callback promotes the background thread if the role is free;
//         hand_on() runs when a reaper is done, and promotes a waiter whose batch is incomplete,
//                   else the background thread if callbacks_ > 0 or something is late (Q8), else
//                   frees the role.
//   Q3  A waiter that sleeps is woken when its batch is complete. The reaper makes the batch
//       complete first and takes reap_mutex_ afterwards to look through waiters_. A waiter checks
//       its batch and enters itself under one hold of reap_mutex_: either it sees the batch
//       complete, or the reaper, later, sees it in the list.
//   Q4  A promoted waiter whose batch has become complete on the way hands the role on at once.
//   Q5  Only the reaper completes requests that reached the kernel, so while a thread has the role
//       and its own batch is incomplete, some request of that batch is in the ring or in backlog_
//       behind requests that are: blocking on the ring ends. give_up_requests() and devices that
//       are starters complete requests, too, and end it by a request that does nothing.
//   Q6  An entry of flights_ and its request are read for submission and written at completion,
//       both under flights_mutex_. (The kernel orders the two as well, but in a way that the memory
//       model of C++ does not know.) After a request has been submitted its submitter does not
//       touch batch or request again: they may be gone.
//   Q7  At most flights_.size() requests are in the kernel, and one that wakes the reaper; the
//       completion ring holds as many: it never overflows.
//   Q8  What nobody waits for any more, since wait_for() has ended, is completed by the background
//       thread at the latest. It has the role, with the others behind it, until nothing is in the
//       kernel: late_ counts what was left, and late_done_ is what it was when that was the case.
//   Q9  A lone ring is one thread's from taking it on; when that thread leaves it late, it is its
//       flight's. Whoever has taken its answer gives it back.
//
// Locks: submit_mutex_ before flights_mutex_ before that of lone_rings_; reap_mutex_ alone. None is
// held while a callback runs.
class UringQueue final : public FileQueue {
 public:
  static Result<std::unique_ptr<FileQueue>> make(UringOptions options);
  ~UringQueue() override;

  Result<int> attach(int fd) override;
  void detach(int index) override;
  std::string name() const override { return "io_uring"; }
  // One system call of the thread that waits, and nobody has to be woken: cheaper than the ring.
  Execute executes_alone() const override { return execute_request; }
  void wait(IoBatch& batch) noexcept override;
  Nanos now() const override { return steady_now(); }

 protected:
  void submit_requests(IoBatch& batch) override;
  bool wait_for(IoBatch& batch, Nanos limit) noexcept override;
  // A lone read by a ring of its own, where one is free.
  bool run_requests_for(IoBatch& batch, Nanos limit) override;
  void give_up_requests(Device& device) override;
  void completed(const IoBatch* batch, bool callback) override;

 private:
  explicit UringQueue(UringOptions options) : flights_(options.in_flight), lone_rings_(kLoneRings) {
    for (std::uint32_t i = options.in_flight; i-- > 0;) free_.push_back(i);
  }

  // The submitting side. `lock` holds submit_mutex_.
  void issue(std::unique_lock<std::mutex>& lock);
  bool fill();
  void prepare(io_uring_sqe* sqe, std::uint32_t index);
  void enter(std::unique_lock<std::mutex>& lock);
  void leave_late(const Flight& flight);
  void wake_reaper();

  // The reaping side; all but serve() and wait_for_completions() are called by the reaper alone.
  void serve();
  // For `limit` at most; negative: until something is there.
  void reap(Nanos limit = -1);
  std::size_t wait_for_completions(std::span<Completion> into, Nanos limit);
  enum class Settled : std::uint8_t {
    kDone,   // it has its status
    kAgain,  // the rest of it has to go out again
    kHere,   // the kernel cannot do it beside: to be executed on this thread
  };
  Settled settle(Flight& flight, int result);
  void execute_here(std::span<const std::uint32_t> flights);
  struct Finished {
    IoBatch* batch;
    bool callback;
  };
  void finish_all(std::span<const Finished> finished);
  Settled settle_late(Flight& flight);
  void wake_complete_waiters();
  void hand_on();
  void note_late();
  bool is_idle();

  io_uring ring_{};
  std::mutex submit_mutex_;          // the submission side of ring_
  std::atomic<bool> waking_{false};  // a request that wakes the reaper is on its way there

  std::mutex flights_mutex_;
  std::vector<Flight> flights_;
  std::vector<std::uint32_t> free_;   // indices into flights_
  std::vector<std::uint32_t> again_;  // flights to go out once more
  std::deque<Flight> backlog_;        // waiting for a free place in flights_

  std::mutex reap_mutex_;
  bool reaping_ = false;          // Q1
  std::vector<Waiter*> waiters_;  // asleep in wait(), oldest first
  std::size_t callbacks_ = 0;     // batches with a callback that are not complete
  std::uint64_t late_ = 0;        // Q8
  std::uint64_t late_done_ = 0;
  bool background_promoted_ = false;
  bool closing_ = false;
  std::condition_variable background_wake_;
  std::optional<OsThread> background_;

  LoneRings lone_rings_;

  std::mutex files_mutex_;
  std::vector<int> free_files_;  // indices of the ring's file table
};

Result<std::unique_ptr<FileQueue>> UringQueue::make(UringOptions options) {
  std::unique_ptr<UringQueue> queue(new UringQueue(options));
  const unsigned entries = std::min(options.in_flight, 256u);
  io_uring_params params{};
  params.flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP | IORING_SETUP_SUBMIT_ALL;
  params.cq_entries = std::max(options.in_flight + 1, 2 * entries);
  int rc = io_uring_queue_init_params(entries, &queue->ring_, &params);
  if (rc == -EINVAL) {  // before Linux 5.18
    params = {};
    params.flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
    params.cq_entries = std::max(options.in_flight + 1, 2 * entries);
    rc = io_uring_queue_init_params(entries, &queue->ring_, &params);
  }
  if (rc < 0) {
    // So that the destructor knows that there is no ring.
    queue->ring_.ring_fd = -1;
    if (rc == -ENOSYS || rc == -EPERM || rc == -EACCES || rc == -EINVAL) {
      return Error{ErrorCode::kUnsupported,
                   std::string("io_uring is not available: ") + std::strerror(-rc),
                   "Use the thread queue, or allow io_uring (sysctl kernel.io_uring_disabled)."};
    }
    return os_error(-rc, "cannot make an io_uring");
  }
  // A table of descriptors saves the kernel a look-up for each request; without one they work too.
  if (io_uring_register_files_sparse(&queue->ring_, options.registered_files) == 0) {
    for (unsigned i = options.registered_files; i-- > 0;) {
      queue->free_files_.push_back(static_cast<int>(i));
    }
  }
  UringQueue* raw = queue.get();
  HEXAD_TRY_ASSIGN(OsThread background, OsThread::start("hexad-uring", [raw] { raw->serve(); }));
  queue->background_.emplace(std::move(background));
  return std::unique_ptr<FileQueue>(std::move(queue));
}

UringQueue::~UringQueue() {
  if (ring_.ring_fd < 0) return;
  wait_for_started();
  {
    const std::lock_guard<std::mutex> lock(reap_mutex_);
    closing_ = true;
  }
  background_wake_.notify_one();
  if (background_.has_value()) background_->join();
  HEXAD_ASSERT(free_.size() == flights_.size());
  io_uring_queue_exit(&ring_);
}

Result<int> UringQueue::attach(int fd) {
  const std::lock_guard<std::mutex> lock(files_mutex_);
  if (free_files_.empty()) return -1;
  const int index = free_files_.back();
  if (io_uring_register_files_update(&ring_, static_cast<unsigned>(index), &fd, 1) != 1) return -1;
  free_files_.pop_back();
  return index;
}

void UringQueue::detach(int index) {
  const std::lock_guard<std::mutex> lock(files_mutex_);
  const int none = -1;
  const int rc = io_uring_register_files_update(&ring_, static_cast<unsigned>(index), &none, 1);
  // An index that could not be cleared is not used again.
  if (rc == 1) free_files_.push_back(index);
}

void UringQueue::submit_requests(IoBatch& batch) {
  const bool callback = static_cast<bool>(batch.done);
  const std::size_t count = batch.requests.size();
  std::size_t refused = 0;
  std::size_t for_starters = 0;
  for (IoRequest& request : batch.requests) {
    request.status = check(request);
    if (!request.status.ok()) {
      ++refused;
    } else if (request.device->starter() != nullptr) {
      ++for_starters;
    }
  }
  if (refused == count) {
    for (std::size_t i = 0; i < count; ++i) finish(batch);
    return;
  }
  // While valid requests are outstanding none of these is the last one.
  for (std::size_t i = 0; i < refused; ++i) finish(batch);
  if (callback) {
    const std::lock_guard<std::mutex> lock(reap_mutex_);
    ++callbacks_;
    if (!reaping_) {  // Q2
      reaping_ = true;
      background_promoted_ = true;
      background_wake_.notify_one();
    }
  }
  if (for_starters > 0) start(batch, for_starters);
  if (refused + for_starters == count) return;
  std::unique_lock<std::mutex> lock(submit_mutex_);
  {
    const std::lock_guard<std::mutex> flights_lock(flights_mutex_);
    for (IoRequest& request : batch.requests) {
      if (request.device->starter() != nullptr) continue;
      if (request.status.ok()) backlog_.push_back({&batch, &request, 0, 0, callback});
    }
  }
  issue(lock);
}

// Gives the kernel what can be given: flights that go out again, and the backlog for as long as
// there are free flights.
void UringQueue::issue(std::unique_lock<std::mutex>& lock) {
  for (bool more = true; more;) {
    more = fill();
    enter(lock);
  }
}

// Prepares until the submission ring is full or nothing is left. True in the first case.
bool UringQueue::fill() {
  const std::lock_guard<std::mutex> lock(flights_mutex_);  // Q6
  for (;;) {
    const bool fresh = again_.empty();
    if (fresh && (backlog_.empty() || free_.empty())) return false;
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    if (sqe == nullptr) return true;
    std::vector<std::uint32_t>& from = fresh ? free_ : again_;
    const std::uint32_t index = from.back();
    from.pop_back();
    if (fresh) {
      flights_[index] = backlog_.front();
      backlog_.pop_front();
      send(*flights_[index].request);
    }
    prepare(sqe, index);
  }
}

void UringQueue::prepare(io_uring_sqe* sqe, std::uint32_t index) {
  const Flight& flight = flights_[index];
  if (flight.lone != nullptr) {
    io_uring_prep_poll_add(sqe, flight.lone->fd(), POLLIN);
    io_uring_sqe_set_data64(sqe, index);
    return;
  }
  const IoRequest& request = *flight.request;
  const auto* device = static_cast<const FileDevice*>(request.device);
  const bool registered = device->queue_index() >= 0;
  const int fd = registered ? device->queue_index() : device->fd();
  const std::uint64_t offset = request.offset + flight.moved;
  const auto length =
      static_cast<unsigned>(std::min(request.length - flight.moved, kLargestTransfer));
  switch (flight.flushing ? IoOp::kFlush : request.op) {
    case IoOp::kRead:
      io_uring_prep_read(sqe, fd, request.data + flight.moved, length, offset);
      break;
    case IoOp::kWrite:
      io_uring_prep_write(sqe, fd, request.data + flight.moved, length, offset);
      if (request.mode == WriteMode::kDurable && !flushes_apart(request)) {
        sqe->rw_flags = RWF_DSYNC;
      }
      break;
    case IoOp::kFlush:
      io_uring_prep_fsync(sqe, fd, IORING_FSYNC_DATASYNC);
      break;
    case IoOp::kDiscard:
      io_uring_prep_fallocate(sqe, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                              static_cast<off_t>(request.offset),
                              static_cast<off_t>(request.length));
      break;
  }
  unsigned flags = registered ? IOSQE_FIXED_FILE : 0;
  // A request that could not go on without waiting goes to a thread of the kernel that may wait.
  if (flight.retries > 0) flags |= IOSQE_ASYNC;
  io_uring_sqe_set_flags(sqe, flags);
  io_uring_sqe_set_data64(sqe, index);
}

// Gives the kernel everything that is prepared. When it is short of memory this waits with the lock
// released: others may then prepare more and submit it together with ours.
void UringQueue::enter(std::unique_lock<std::mutex>& lock) {
  while (io_uring_sq_ready(&ring_) > 0) {
    const int rc = io_uring_submit(&ring_);
    if (rc >= 0 || rc == -EINTR) continue;
    HEXAD_ASSERT(rc == -EAGAIN || rc == -EBUSY || rc == -ENOMEM);
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    lock.lock();
  }
}

void UringQueue::wait(IoBatch& batch) noexcept {
  if (batch.complete()) return;
  {
    std::unique_lock<std::mutex> lock(reap_mutex_);
    if (batch.complete()) return;  // Q3
    if (reaping_) {
      Waiter self(batch);
      waiters_.push_back(&self);
      self.wake.wait(lock, [&] { return self.promoted || batch.complete(); });
      std::erase(waiters_, &self);
      if (!self.promoted) return;
    }
    reaping_ = true;
  }
  while (!batch.complete()) reap();
  hand_on();  // Q4
}

// As wait(), but gives the role on when the time is over (Q2). A batch that nobody waits for any
// more is completed by whoever reaps next.
bool UringQueue::wait_for(IoBatch& batch, Nanos limit) noexcept {
  const Nanos end = now() + limit;
  {
    std::unique_lock<std::mutex> lock(reap_mutex_);
    if (batch.complete()) return true;
    if (reaping_) {
      Waiter self(batch);
      waiters_.push_back(&self);
      self.wake.wait_for(lock, std::chrono::nanoseconds(limit),
                         [&] { return self.promoted || batch.complete(); });
      std::erase(waiters_, &self);
      if (!self.promoted) {
        if (batch.complete()) return true;
        note_late();
        return false;
      }
    }
    reaping_ = true;
  }
  for (Nanos left = end - now(); left > 0 && !batch.complete(); left = end - now()) reap(left);
  const bool complete = batch.complete();
  if (!complete) {
    const std::lock_guard<std::mutex> lock(reap_mutex_);
    note_late();
  }
  hand_on();
  return complete;
}

bool UringQueue::run_requests_for(IoBatch& batch, Nanos limit) {
  IoRequest& request = batch.requests.front();
  const bool is_lone = batch.requests.size() == 1 && request.op == IoOp::kRead &&
                       request.device->starter() == nullptr;
  if (!is_lone || !check(request).ok()) return FileQueue::run_requests_for(batch, limit);
  if (read_from_cache(request)) {
    finish(batch);
    return true;
  }
  LoneRing* const ring = lone_rings_.take();
  if (ring == nullptr) return FileQueue::run_requests_for(batch, limit);
  const int fd = static_cast<const FileDevice*>(request.device)->fd();
  Flight flight{&batch, &request};
  send(request);
  const Nanos end = now() + limit;
  for (Nanos left = limit;; left = std::max<Nanos>(0, end - now())) {
    const std::uint64_t length = std::min(request.length - flight.moved, kLargestTransfer);
    const auto how = flight.retries > 0 ? LoneRing::How::kMayWait : LoneRing::How::kAtOnce;
    const LoneRing::Answer answered = ring->read(fd, {request.data + flight.moved, length},
                                                 request.offset + flight.moved, how, left);
    switch (answered.outcome) {
      case LoneRing::Outcome::kAnswered:
        switch (settle(flight, answered.result)) {
          case Settled::kAgain:
            continue;
          case Settled::kHere:
            // From its start, by the ring that all share, where the thread that reaps executes it.
            lone_rings_.give_back(ring);
            request.status = Status();
            return FileQueue::run_requests_for(batch, limit);
          case Settled::kDone:
            break;
        }
        lone_rings_.give_back(ring);
        finish(batch);
        return true;
      case LoneRing::Outcome::kNotSent:
        // From its start, by the ring that all share.
        lone_rings_.discard(ring);
        request.status = Status();
        return FileQueue::run_requests_for(batch, limit);
      case LoneRing::Outcome::kLate:
        flight.lone = ring;  // Q9
        leave_late(flight);
        return batch.complete();
    }
  }
}

// Nobody else knows of the flight yet.
void UringQueue::leave_late(const Flight& flight) {
  {
    std::unique_lock<std::mutex> lock(submit_mutex_);
    {
      const std::lock_guard<std::mutex> flights_lock(flights_mutex_);
      backlog_.push_back(flight);
    }
    issue(lock);
  }
  const std::lock_guard<std::mutex> lock(reap_mutex_);
  note_late();
}

// Under reap_mutex_. Something of a batch that its thread does not wait for is in flights_ or
// backlog_, or has been completed.
void UringQueue::note_late() {
  ++late_;
  if (reaping_) return;  // and hands the role on
  reaping_ = true;
  background_promoted_ = true;
  background_wake_.notify_one();
}

// In place of each request that the kernel has, or has had in part, there is one that nobody waits
// for; those that it has not seen are over.
void UringQueue::give_up_requests(Device& device) {
  if (device.starter() != nullptr) return give_up_started(device);
  std::vector<Finished> finished;
  {
    const std::lock_guard<std::mutex> lock(flights_mutex_);  // Q6
    const auto may_be_left = [&](const Flight& flight) {
      return flight.request != nullptr && flight.request->device == &device &&
             flight.request->may_be_left && !flight.request->left && flight.lone == nullptr &&
             !flight.here;
    };
    for (Flight& flight : flights_) {
      if (!may_be_left(flight)) continue;
      finished.push_back({flight.batch, flight.callback});
      const Left left = leave(*flight.request);
      flight.batch = left.batch;
      flight.request = left.request;
      flight.callback = false;
    }
    std::erase_if(backlog_, [&](const Flight& flight) {
      if (!may_be_left(flight)) return false;
      flight.request->status = given_up_error(device);
      answer(*flight.request);
      finished.push_back({flight.batch, flight.callback});
      return true;
    });
  }
  if (finished.empty()) return;
  {
    const std::lock_guard<std::mutex> lock(reap_mutex_);
    note_late();  // Q8
  }
  finish_all(finished);
  wake_reaper();
}

void UringQueue::completed(const IoBatch*, bool callback) {
  {
    const std::lock_guard<std::mutex> lock(reap_mutex_);
    if (callback) {
      --callbacks_;
    } else {
      wake_complete_waiters();
    }
    if (!reaping_) return;  // and whoever takes the role sees the batch complete first
  }
  wake_reaper();
}

// Whoever is blocked on the ring looks at its batch again. One request for that is enough: what was
// complete before it was asked for is seen when it has come.
void UringQueue::wake_reaper() {
  if (waking_.exchange(true)) return;
  std::unique_lock<std::mutex> lock(submit_mutex_);
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  for (; sqe == nullptr; sqe = io_uring_get_sqe(&ring_)) enter(lock);
  io_uring_prep_nop(sqe);
  io_uring_sqe_set_data64(sqe, kNoFlight);
  enter(lock);
}

// Nothing is in the kernel or on its way there.
bool UringQueue::is_idle() {
  const std::lock_guard<std::mutex> lock(flights_mutex_);
  return free_.size() == flights_.size() && backlog_.empty();
}

void UringQueue::serve() {
  pthread_setname_np(pthread_self(), "hexad-reaper");
  std::unique_lock<std::mutex> lock(reap_mutex_);
  for (;;) {
    background_wake_.wait(lock, [&] { return closing_ || background_promoted_; });
    if (!background_promoted_) return;
    background_promoted_ = false;
    while (callbacks_ > 0 || late_ != late_done_) {
      const std::uint64_t late = late_;
      const bool only_late = callbacks_ == 0;
      lock.unlock();
      const bool none_left = only_late && is_idle();
      if (!none_left) reap();
      lock.lock();
      if (none_left) late_done_ = late;
    }
    lock.unlock();
    hand_on();
    lock.lock();
  }
}

// The role goes to a waiter, to the background thread, or is free: Q2.
void UringQueue::hand_on() {
  const std::lock_guard<std::mutex> lock(reap_mutex_);
  for (Waiter* waiter : waiters_) {
    if (waiter->batch.complete()) continue;
    waiter->promoted = true;
    waiter->wake.notify_one();
    return;
  }
  if (callbacks_ > 0 || late_ != late_done_) {
    background_promoted_ = true;
    background_wake_.notify_one();
    return;
  }
  reaping_ = false;
}

// Blocks until there are completions and deals with them.
void UringQueue::reap(Nanos limit) {
  Completion completions[kReapAtOnce];
  const std::size_t count = wait_for_completions(completions, limit);
  if (count == 0) return;

  Finished finished[kReapAtOnce];
  std::size_t finished_count = 0;
  std::uint32_t here[kReapAtOnce];
  std::size_t here_count = 0;
  bool more = false;
  {
    const std::lock_guard<std::mutex> lock(flights_mutex_);  // Q6
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t index = completions[i].flight;
      if (index == kNoFlight) {
        waking_.exchange(false);
        continue;
      }
      Flight& flight = flights_[index];
      const Settled settled =
          flight.lone != nullptr ? settle_late(flight) : settle(flight, completions[i].result);
      switch (settled) {
        case Settled::kDone:
          answer(*flight.request);
          finished[finished_count++] = {flight.batch, flight.callback};
          flight.request = nullptr;
          free_.push_back(index);
          break;
        case Settled::kAgain:
          again_.push_back(index);
          break;
        case Settled::kHere:
          finished[finished_count++] = {flight.batch, flight.callback};
          flight.here = true;
          here[here_count++] = index;
          break;
      }
    }
    more = !again_.empty() || !backlog_.empty();
  }
  if (here_count > 0) execute_here({here, here_count});
  if (more) {
    std::unique_lock<std::mutex> lock(submit_mutex_);
    issue(lock);
  }
  finish_all({finished, finished_count});
}

void UringQueue::finish_all(std::span<const Finished> finished) {
  std::size_t callbacks_run = 0;
  bool waited_for = false;
  for (const Finished& one : finished) {
    if (!finish(*one.batch)) continue;
    if (one.callback) {
      ++callbacks_run;
    } else {
      waited_for = true;
    }
  }
  if (callbacks_run == 0 && !waited_for) return;
  const std::lock_guard<std::mutex> lock(reap_mutex_);
  callbacks_ -= callbacks_run;
  if (waited_for) wake_complete_waiters();
}

// One after the other, while what else completes has to wait: slow, and no failure. A flush that
// failed would be the loss of its device, whatever the reason.
void UringQueue::execute_here(std::span<const std::uint32_t> flights) {
  for (const std::uint32_t index : flights) {
    IoRequest* request = nullptr;
    {
      const std::lock_guard<std::mutex> lock(flights_mutex_);  // Q6
      request = flights_[index].request;
    }
    request->status = execute_request(*request);
    answer(*request);
    const std::lock_guard<std::mutex> lock(flights_mutex_);
    flights_[index].request = nullptr;
    free_.push_back(index);
  }
}

// reap_mutex_ is held.
void UringQueue::wake_complete_waiters() {
  for (Waiter* waiter : waiters_) {
    if (waiter->batch.complete()) waiter->wake.notify_one();
  }
}

std::size_t UringQueue::wait_for_completions(std::span<Completion> into, Nanos limit) {
  io_uring_cqe* first = nullptr;
  int rc = 0;
  // Older kernels wait by a request of their own, which is the submitting side's affair.
  if (limit >= 0 && (ring_.features & IORING_FEAT_EXT_ARG) != 0) {
    __kernel_timespec time{limit / 1'000'000'000, limit % 1'000'000'000};
    rc = io_uring_wait_cqe_timeout(&ring_, &first, &time);
  } else {
    rc = io_uring_wait_cqe(&ring_, &first);
  }
  if (rc < 0) {
    HEXAD_ASSERT(rc == -EINTR || rc == -EAGAIN || rc == -ETIME);
    return 0;
  }
  io_uring_cqe* entries[kReapAtOnce];
  const unsigned count =
      io_uring_peek_batch_cqe(&ring_, entries, static_cast<unsigned>(into.size()));
  for (unsigned i = 0; i < count; ++i) {
    into[i] = {static_cast<std::uint32_t>(io_uring_cqe_get_data64(entries[i])), entries[i]->res};
  }
  io_uring_cq_advance(&ring_, count);
  return count;
}

// The ring of a late read can be read, or its poll has ended otherwise and begins again. What is
// left of the request goes by the ring that all share.
UringQueue::Settled UringQueue::settle_late(Flight& flight) {
  const LoneRing::Answer answered = flight.lone->take();
  if (answered.outcome != LoneRing::Outcome::kAnswered) return Settled::kAgain;
  lone_rings_.give_back(std::exchange(flight.lone, nullptr));
  return settle(flight, answered.result);
}

// What has become of a flight. kDone: the status of its request is set.
UringQueue::Settled UringQueue::settle(Flight& flight, int result) {
  IoRequest& request = *flight.request;
  const bool moves_bytes =
      !flight.flushing && (request.op == IoOp::kRead || request.op == IoOp::kWrite);
  if (result < 0) {
    // ECANCELED: the thread that submitted has ended before its request had begun; or the kernel
    // may have no thread for it, because the user may have no more processes (RLIMIT_NPROC).
    const bool passing = result == -EINTR || result == -EAGAIN || result == -ECANCELED;
    const int most = result == -ECANCELED ? kMostCanceled : kMostRetries;
    if (passing) return ++flight.retries <= most ? Settled::kAgain : Settled::kHere;
    const bool harmless = request.op == IoOp::kDiscard && is_refused_discard(-result);
    if (flight.flushing) {
      request.status = own_flush_error(request, -result);
    } else if (!harmless) {
      request.status = request_error(request, -result);
    }
    return Settled::kDone;
  }
  if (!moves_bytes) return Settled::kDone;
  if (result == 0) {
    request.status = short_request_error(request, flight.moved);
    return Settled::kDone;
  }
  flight.moved += static_cast<std::uint64_t>(result);
  if (flight.moved < request.length) return Settled::kAgain;
  flight.flushing = flushes_apart(request);
  return flight.flushing ? Settled::kAgain : Settled::kDone;
}

}  // namespace

Result<std::unique_ptr<FileQueue>> make_uring_queue(UringOptions options) {
  return UringQueue::make(options);
}

}  // namespace hexad::io
