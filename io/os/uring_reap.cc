// What comes back from the kernel, and whose turn it is to take it: "Who reaps" in uring_parts.h.
#include <liburing.h>
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "io/os/uring_parts.h"
#include "io/os_error.h"

namespace hexad::io {

namespace {

constexpr std::size_t kReapAtOnce = 64;
constexpr int kMostRetries = 1000;
constexpr int kMostCanceled = 10;

}  // namespace

void UringQueue::serve() {
  pthread_setname_np(pthread_self(), "hexad-reaper");
  OsLock lock(reap_mutex_);
  for (;;) {
    background_wake_.wait(
        lock, [&]() HEXAD_REQUIRES(reap_mutex_) { return closing_ || background_promoted_; });
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
  const OsLock lock(reap_mutex_);
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
    const OsLock lock(flights_mutex_);  // Q6
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t index = completions[i].flight;
      if (index == uring::kNoFlight) {
        waking_.exchange(false);
        continue;
      }
      if (index == uring::kWaitOver) continue;
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
    OsLock lock(submit_mutex_);
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
  const OsLock lock(reap_mutex_);
  callbacks_ -= callbacks_run;
  if (waited_for) wake_complete_waiters();
}

// One after the other, while what else completes has to wait: slow, and no failure. A flush that
// failed would be the loss of its device, whatever the reason.
void UringQueue::execute_here(std::span<const std::uint32_t> flights) {
  for (const std::uint32_t index : flights) {
    IoRequest* request = nullptr;
    {
      const OsLock lock(flights_mutex_);  // Q6
      request = flights_[index].request;
    }
    request->status = execute_request(*request);
    answer(*request);
    const OsLock lock(flights_mutex_);
    flights_[index].request = nullptr;
    free_.push_back(index);
  }
}

void UringQueue::wake_complete_waiters() {
  for (Waiter* waiter : waiters_) {
    if (waiter->batch.complete()) waiter->wake.notify_one();
  }
}

std::size_t UringQueue::wait_for_completions(std::span<Completion> into, Nanos limit) {
  io_uring_cqe* first = nullptr;
  int rc = 0;
  // Older kernels wait by a request of their own, which is the submitting side's affair.
  if (limit >= 0 && (ring_->features & IORING_FEAT_EXT_ARG) != 0) {
    __kernel_timespec time{limit / 1'000'000'000, limit % 1'000'000'000};
    rc = io_uring_wait_cqe_timeout(ring_.get(), &first, &time);
  } else {
    rc = io_uring_wait_cqe(ring_.get(), &first);
  }
  if (rc < 0) {
    HEXAD_ASSERT(rc == -EINTR || rc == -EAGAIN || rc == -ETIME);
    return 0;
  }
  io_uring_cqe* entries[kReapAtOnce];
  const unsigned count =
      io_uring_peek_batch_cqe(ring_.get(), entries, static_cast<unsigned>(into.size()));
  for (unsigned i = 0; i < count; ++i) {
    into[i] = {static_cast<std::uint32_t>(io_uring_cqe_get_data64(entries[i])), entries[i]->res};
  }
  io_uring_cq_advance(ring_.get(), count);
  return count;
}

// The ring of a late read can be read, or its poll has ended otherwise and begins again. What is
// left of the request goes by the ring that all share.
UringQueue::Settled UringQueue::settle_late(Flight& flight) {
  const LoneRing::Answer answered = flight.lone->take();
  if (answered.outcome != LoneRing::Outcome::kAnswered) return Settled::kAgain;
  lone_rings_.release(std::exchange(flight.lone, nullptr));
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

}  // namespace hexad::io
