// What goes to the kernel.
#include <fcntl.h>
#include <liburing.h>
#include <linux/falloc.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "base/assert.h"
#include "io/os/uring_parts.h"

namespace hexad::io {

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
    const OsLock lock(reap_mutex_);
    ++callbacks_;
    if (!reaping_) {  // Q2
      reaping_ = true;
      background_promoted_ = true;
      background_wake_.notify_one();
    }
  }
  if (for_starters > 0) start(batch, for_starters);
  if (refused + for_starters == count) return;
  OsLock lock(submit_mutex_);
  {
    const OsLock flights_lock(flights_mutex_);
    for (IoRequest& request : batch.requests) {
      if (request.device->starter() != nullptr) continue;
      if (request.status.ok()) backlog_.push_back({&batch, &request, 0, 0, callback});
    }
  }
  issue(lock);
}

// What is submitted is written to the ring under the lock, and given to the kernel without it:
// whoever submits meanwhile gives the kernel both, and then there is nothing to give here, and the
// call does not wait.
void UringQueue::run_together(IoBatch& batch) {
  if (!may_go_together(batch) || !take_free_role()) {
    submit_requests(batch);
    wait(batch);
    return;
  }
  const std::size_t count = batch.requests.size();
  unsigned together = 0;
  {
    OsLock lock(submit_mutex_);
    const bool alone = is_alone(count);
    {
      const OsLock flights_lock(flights_mutex_);
      for (IoRequest& request : batch.requests) backlog_.push_back({&batch, &request});
    }
    if (alone) {
      fill();
      together = publish();
      together_ = together;
    } else {
      issue(lock);
    }
  }
  if (together > 0) enter_together(together);
  while (!batch.complete()) reap();
  hand_on();
}

// Nothing of it is refused, or done by others.
bool UringQueue::may_go_together(IoBatch& batch) {
  if (batch.requests.size() > uring::kMostTogether) return false;
  return std::all_of(batch.requests.begin(), batch.requests.end(), [](IoRequest& request) {
    request.status = check(request);
    return request.status.ok() && request.device->starter() == nullptr;
  });
}

bool UringQueue::take_free_role() {
  const OsLock lock(reap_mutex_);
  return !std::exchange(reaping_, true);
}

// By the reaper: nothing is in the ring, nor about to be, and so many requests have room there.
bool UringQueue::is_alone(std::size_t count) {
  if ((ring_->features & IORING_FEAT_EXT_ARG) == 0) return false;
  if (io_uring_cq_ready(ring_.get()) > 0 || io_uring_sq_ready(ring_.get()) > 0) return false;
  if (io_uring_sq_space_left(ring_.get()) < count) return false;
  const OsLock lock(flights_mutex_);
  return free_.size() == flights_.size() && backlog_.empty() && free_.size() >= count;
}

// As io_uring_submit(), but for the system call. How many requests it would hand over.
unsigned UringQueue::publish() {
  io_uring_sq& sq = ring_->sq;
  const unsigned tail = sq.sqe_tail;
  // Without this table (IORING_SETUP_NO_SQARRAY, from liburing 2.6 on) entries have their order.
  if (sq.array != nullptr) {
    const unsigned mask = *sq.kring_mask;
    for (unsigned at = sq.sqe_head; at != tail; ++at) sq.array[at & mask] = at & mask;
  }
  sq.sqe_head = tail;
  std::atomic_ref<unsigned>(*sq.ktail).store(tail, std::memory_order_release);
  return tail - std::atomic_ref<unsigned>(*sq.khead).load(std::memory_order_acquire);
}

void UringQueue::enter_together(unsigned count) {
  __kernel_timespec time{together_limit_ / 1'000'000'000, together_limit_ % 1'000'000'000};
  io_uring_getevents_arg how{};
  how.ts = reinterpret_cast<std::uintptr_t>(&time);
  const int rc = io_uring_enter2(static_cast<unsigned>(ring_->ring_fd), count, count,
                                 IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
                                 reinterpret_cast<sigset_t*>(&how), sizeof(how));
  OsLock lock(submit_mutex_);
  together_ = 0;
  if (rc != static_cast<int>(count)) enter(lock);  // some may be left to be submitted
}

void UringQueue::end_together(OsLock& lock) {
  while (together_ > 1) {
    io_uring_sqe* sqe = io_uring_get_sqe(ring_.get());
    for (; sqe == nullptr; sqe = io_uring_get_sqe(ring_.get())) enter(lock);
    io_uring_prep_nop(sqe);
    io_uring_sqe_set_data64(sqe, uring::kWaitOver);
    if (together_ > 1) --together_;  // enter() lets go of the lock for a while
  }
}

// Gives the kernel what can be given: flights that go out again, and the backlog for as long as
// there are free flights.
void UringQueue::issue(OsLock& lock) {
  end_together(lock);
  for (bool more = true; more;) {
    more = fill();
    enter(lock);
  }
}

// Prepares until the submission ring is full or nothing is left. True in the first case.
bool UringQueue::fill() {
  const OsLock lock(flights_mutex_);  // Q6
  for (;;) {
    const bool fresh = again_.empty();
    if (fresh && (backlog_.empty() || free_.empty())) return false;
    io_uring_sqe* sqe = io_uring_get_sqe(ring_.get());
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
      static_cast<unsigned>(std::min(request.length - flight.moved, uring::kLargestTransfer));
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
void UringQueue::enter(OsLock& lock) {
  while (io_uring_sq_ready(ring_.get()) > 0) {
    const int rc = io_uring_submit(ring_.get());
    if (rc >= 0 || rc == -EINTR) continue;
    HEXAD_ASSERT(rc == -EAGAIN || rc == -EBUSY || rc == -ENOMEM);
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    lock.lock();
  }
}

}  // namespace hexad::io
