#include "io/os/uring_queue.h"

#include <liburing.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "io/os/uring_parts.h"
#include "io/os_error.h"

namespace hexad::io {

UringQueue::UringQueue(UringOptions options)
    : ring_(std::make_unique<io_uring>()),
      together_limit_(options.together_limit),
      flights_(options.in_flight),
      lone_rings_(uring::kLoneRings) {
  for (std::uint32_t i = options.in_flight; i-- > 0;) free_.push_back(i);
}

Result<std::unique_ptr<FileQueue>> UringQueue::make(UringOptions options) {
  std::unique_ptr<UringQueue> queue(new UringQueue(options));
  const unsigned entries = std::min(options.in_flight, 256u);
  const unsigned completions =  // Q7
      std::max(options.in_flight + static_cast<unsigned>(uring::kMostTogether), 2 * entries);
  io_uring_params params{};
  params.flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP | IORING_SETUP_SUBMIT_ALL;
  params.cq_entries = completions;
  int rc = io_uring_queue_init_params(entries, queue->ring_.get(), &params);
  if (rc == -EINVAL) {  // before Linux 5.18
    params = {};
    params.flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
    params.cq_entries = completions;
    rc = io_uring_queue_init_params(entries, queue->ring_.get(), &params);
  }
  if (rc < 0) {
    // So that the destructor knows that there is no ring.
    queue->ring_->ring_fd = -1;
    if (rc == -ENOSYS || rc == -EPERM || rc == -EACCES || rc == -EINVAL) {
      return Error{ErrorCode::kUnsupported,
                   std::string("io_uring is not available: ") + std::strerror(-rc),
                   "Use the thread queue, or allow io_uring (sysctl kernel.io_uring_disabled)."};
    }
    return os_error(-rc, "cannot make an io_uring");
  }
  // A table of descriptors saves the kernel a look-up for each request; without one they work too.
  if (io_uring_register_files_sparse(queue->ring_.get(), options.registered_files) == 0) {
    const OsLock lock(queue->files_mutex_);
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
  if (ring_->ring_fd < 0) return;
  wait_for_started();
  {
    const OsLock lock(reap_mutex_);
    closing_ = true;
  }
  background_wake_.notify_one();
  if (background_.has_value()) background_->join();
  HEXAD_ASSERT(free_.size() == flights_.size());
  io_uring_queue_exit(ring_.get());
}

Result<int> UringQueue::attach(int fd) {
  const OsLock lock(files_mutex_);
  if (free_files_.empty()) return -1;
  const int index = free_files_.back();
  if (io_uring_register_files_update(ring_.get(), static_cast<unsigned>(index), &fd, 1) != 1)
    return -1;
  free_files_.pop_back();
  return index;
}

void UringQueue::detach(int index) {
  const OsLock lock(files_mutex_);
  const int none = -1;
  const int rc =
      io_uring_register_files_update(ring_.get(), static_cast<unsigned>(index), &none, 1);
  // An index that could not be cleared is not used again.
  if (rc == 1) free_files_.push_back(index);
}

void UringQueue::wait(IoBatch& batch) noexcept {
  if (batch.complete()) return;
  {
    OsLock lock(reap_mutex_);
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
    OsLock lock(reap_mutex_);
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
    const OsLock lock(reap_mutex_);
    note_late();
  }
  hand_on();
  return complete;
}

bool UringQueue::run_requests_for(IoBatch& batch, Nanos limit) {
  if (limit == kNoLimit) {
    run_together(batch);
    return true;
  }
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
    const std::uint64_t length = std::min(request.length - flight.moved, uring::kLargestTransfer);
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
            lone_rings_.release(ring);
            request.status = Status();
            return FileQueue::run_requests_for(batch, limit);
          case Settled::kDone:
            break;
        }
        lone_rings_.release(ring);
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
    OsLock lock(submit_mutex_);
    {
      const OsLock flights_lock(flights_mutex_);
      backlog_.push_back(flight);
    }
    issue(lock);
  }
  const OsLock lock(reap_mutex_);
  note_late();
}

// Something of a batch that its thread does not wait for is in flights_ or
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
    const OsLock lock(flights_mutex_);  // Q6
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
    const OsLock lock(reap_mutex_);
    note_late();  // Q8
  }
  finish_all(finished);
  wake_reaper();
}

void UringQueue::completed(const IoBatch*, Told told) {
  {
    const OsLock lock(reap_mutex_);
    if (told == Told::kCallback) {
      --callbacks_;
    } else {
      wake_complete_waiters();
    }
    if (!reaping_) return;  // and whoever takes the role sees the batch complete first
  }
  wake_reaper();
}

// Whoever is blocked on the ring looks at its batch again. One request for that is enough: what was
// complete before it was asked for is seen when it has come. Where it waits for several, the one
// that is on its way is one of them.
void UringQueue::wake_reaper() {
  OsLock lock(submit_mutex_);
  end_together(lock);
  if (waking_.exchange(true)) return enter(lock);
  io_uring_sqe* sqe = io_uring_get_sqe(ring_.get());
  for (; sqe == nullptr; sqe = io_uring_get_sqe(ring_.get())) enter(lock);
  io_uring_prep_nop(sqe);
  io_uring_sqe_set_data64(sqe, uring::kNoFlight);
  enter(lock);
}

// Nothing is in the kernel or on its way there.
bool UringQueue::is_idle() {
  const OsLock lock(flights_mutex_);
  return free_.size() == flights_.size() && backlog_.empty();
}

Result<std::unique_ptr<FileQueue>> make_uring_queue(UringOptions options) {
  return UringQueue::make(options);
}

}  // namespace hexad::io
