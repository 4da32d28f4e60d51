// The queue of uring_queue.h: its class, for the files that have its parts. uring_submit.cc: what
// goes to the kernel; uring_reap.cc: what comes back; uring_queue.cc: the rest.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/os_mutex.h"
#include "io/device.h"
#include "io/os/file_device.h"
#include "io/os/file_request.h"
#include "io/os/lone_ring.h"
#include "io/os/uring_queue.h"
#include "io/os_thread.h"

struct io_uring;
struct io_uring_sqe;

namespace hexad::io {

namespace uring {

inline constexpr std::uint64_t kLargestTransfer = 1 << 30;  // bytes; Linux: 2 GiB less a page
// The user data of what only wakes whoever reaps.
inline constexpr std::uint32_t kNoFlight = ~std::uint32_t{0};
// Of what only ends a wait for several (Q10).
inline constexpr std::uint32_t kWaitOver = kNoFlight - 1;
// Requests that go out and are waited for in one system call, at most.
inline constexpr std::size_t kMostTogether = 16;
// Threads that read at the same time and have a ring of their own for it; the others use the one
// that all share.
inline constexpr std::size_t kLoneRings = 32;

}  // namespace uring

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
//   Q7  At most flights_.size() requests are in the kernel, one that wakes the reaper, and what
//   ends
//       one wait for several (Q10); the completion ring holds as many: it never overflows.
//   Q8  What nobody waits for any more, since wait_for() has ended, is completed by the background
//       thread at the latest. It has the role, with the others behind it, until nothing is in the
//       kernel: late_ counts what was left, and late_done_ is what it was when that was the case.
//   Q9  A lone ring is one thread's from taking it on; when that thread leaves it late, it is its
//       flight's. Whoever has taken its answer gives it back.
//   Q10 Who runs a batch alone in the ring submits it and waits for all of it in one system call,
//   as
//       the reaper, for together_limit_ at most: that much later at most is noted what a device has
//       answered while another one keeps its own. together_ completions end the call, whoever's
//       they are. Nobody else waits for them: whoever puts something into the ring meanwhile, or
//       has something for the reaper to see, puts together_ - 1 requests in that do nothing, after
//       which the next completion ends it. The call is made when nothing is in the ring but the
//       batch, completions that nobody has taken off included, so what did nothing is taken off
//       before the next one.
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
  // Without a limit in one system call, where nobody else is in the ring. A lone read by a ring of
  // its own, where one is free.
  bool run_requests_for(IoBatch& batch, Nanos limit) override;
  void give_up_requests(Device& device) override;
  void completed(const IoBatch* batch, Told told) override;

 private:
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

  explicit UringQueue(UringOptions options);

  // The submitting side. `lock` holds submit_mutex_; the thread safety analysis cannot know that of
  // one that is passed on, so enter(), which lets go of it for a while, is none of its business.
  void issue(OsLock& lock) HEXAD_REQUIRES(submit_mutex_);
  bool fill() HEXAD_REQUIRES(submit_mutex_);
  void prepare(io_uring_sqe* sqe, std::uint32_t index) HEXAD_REQUIRES(flights_mutex_);
  void enter(OsLock& lock) HEXAD_REQUIRES(submit_mutex_) HEXAD_NO_THREAD_SAFETY_ANALYSIS;
  void run_together(IoBatch& batch);
  static bool may_go_together(IoBatch& batch);
  bool take_free_role();
  bool is_alone(std::size_t count) HEXAD_REQUIRES(submit_mutex_);
  unsigned publish() HEXAD_REQUIRES(submit_mutex_);
  void enter_together(unsigned count);
  void end_together(OsLock& lock) HEXAD_REQUIRES(submit_mutex_);
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
  void wake_complete_waiters() HEXAD_REQUIRES(reap_mutex_);
  void hand_on();
  void note_late() HEXAD_REQUIRES(reap_mutex_);
  bool is_idle();

  const std::unique_ptr<io_uring> ring_;
  const Nanos together_limit_;  // Q10
  OsMutex submit_mutex_;        // the submission side of ring_
  // Q10: completions that the reaper waits for in the call that has submitted them; 0: it is in no
  // such call.
  unsigned together_ HEXAD_GUARDED_BY(submit_mutex_) = 0;
  std::atomic<bool> waking_{false};  // a request that wakes the reaper is on its way there

  OsMutex flights_mutex_;
  std::vector<Flight> flights_ HEXAD_GUARDED_BY(flights_mutex_);
  std::vector<std::uint32_t> free_ HEXAD_GUARDED_BY(flights_mutex_);  // indices into flights_
  // Flights to go out once more.
  std::vector<std::uint32_t> again_ HEXAD_GUARDED_BY(flights_mutex_);
  // Waiting for a free place in flights_.
  std::deque<Flight> backlog_ HEXAD_GUARDED_BY(flights_mutex_);

  OsMutex reap_mutex_;
  bool reaping_ HEXAD_GUARDED_BY(reap_mutex_) = false;          // Q1
  std::vector<Waiter*> waiters_ HEXAD_GUARDED_BY(reap_mutex_);  // asleep in wait(), oldest first
  // Batches with a callback that are not complete.
  std::size_t callbacks_ HEXAD_GUARDED_BY(reap_mutex_) = 0;
  std::uint64_t late_ HEXAD_GUARDED_BY(reap_mutex_) = 0;  // Q8
  std::uint64_t late_done_ HEXAD_GUARDED_BY(reap_mutex_) = 0;
  bool background_promoted_ HEXAD_GUARDED_BY(reap_mutex_) = false;
  bool closing_ HEXAD_GUARDED_BY(reap_mutex_) = false;
  std::condition_variable background_wake_;
  std::optional<OsThread> background_;

  LoneRings lone_rings_;

  OsMutex files_mutex_;
  std::vector<int> free_files_ HEXAD_GUARDED_BY(files_mutex_);  // indices of the ring's file table
};

}  // namespace hexad::io
