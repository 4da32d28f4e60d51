// The I/O of groups: a round's requests go out together, then the flushes that make its writes
// durable, on the thread that waits for the group or on those that reap I/O. Tells the pipeline
// when a round is over, which seals the next group then: so the two know each other.
//
// Lock: the pipeline's, which is never held across I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/thread_annotations.h"
#include "core/commit/commit_group.h"
#include "core/commit/flush_gate.h"
#include "core/commit/substitutes.h"
#include "core/space/members.h"
#include "core/stats/counters.h"
#include "io/executor.h"

namespace hexad::core {

class CommitPipeline;

class CommitRounds {
 public:
  // All outlive it. `changed` is told when is_idle() may have changed.
  CommitRounds(io::Executor& executor, const Members& members, Counters& counters, io::Mutex& mutex,
               io::CondVar& changed, CommitPipeline& pipeline);

  // Without the lock, once for each group. When it returns, the group may be gone. kBlocking: it
  // returns when the group is written and flushed, or the thread is called back (C15).
  void run(CommitGroup* group, Waiting waiting) HEXAD_EXCLUDES(mutex_);
  // The same, when the cells ahead are durable.
  void run_main(CommitGroup& group, Waiting waiting) HEXAD_EXCLUDES(mutex_);

  // No thread is inside but for those that run groups. Under the lock.
  bool is_idle() const HEXAD_NO_THREAD_SAFETY_ANALYSIS {
    return completing_ == 0 && !substitutes_.is_starting();
  }
  // Waits for the threads that it has started.
  void join() HEXAD_EXCLUDES(mutex_) { substitutes_.join(); }

 private:
  void start(Round& round, Waiting waiting);
  static bool run_unless_recalled(io::IoBatch& batch, io::IoQueue& queue);
  static bool wait_unless_recalled(io::IoBatch& batch, io::IoQueue& queue);
  void written(Round& round, Waiting waiting);
  // Flushes of this thread, from `next` on.
  struct OwnFlushes {
    std::vector<FlushNeed> needs;
    std::vector<io::IoBatch> batches;  // one for each; never moved one by one
    std::size_t next = 0;
    bool submitted = false;  // they are under way
  };
  void flush_here(std::vector<FlushNeed> needs);
  void end_flushes(OwnFlushes own);
  void complete_less();
  void send_flush(const FlushNeed& need);
  void flushed(FlushDomain domain, const Status& status);

  io::Executor& executor_;
  const Members& members_;
  Counters& counters_;
  io::Mutex& mutex_;
  io::CondVar& changed_;
  CommitPipeline& pipeline_;
  FlushGate gate_ HEXAD_GUARDED_BY(mutex_);
  Substitutes substitutes_;
  // Threads inside written() or flushed().
  std::uint64_t completing_ HEXAD_GUARDED_BY(mutex_) = 0;
};

}  // namespace hexad::core
