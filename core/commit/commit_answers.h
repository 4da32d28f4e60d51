// Who is told that commits are answered: callbacks of transactions, callbacks for an LSN, threads
// that sleep until one.
//
// All under the pipeline's lock, but for Due::tell() and the end of a LsnWaiters::WakeUp.
//
// Invariants
//   C2  a callback runs once, in LSN order per group; after publish() of its transaction, but for
//       answers before all copies are durable
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "core/commit/commit_group.h"
#include "core/commit/lsn_waiters.h"
#include "core/stats/counters.h"
#include "io/executor.h"

namespace hexad::core {

class CommitAnswers {
 public:
  // Both outlive it.
  CommitAnswers(io::Executor& executor, Counters& counters)
      : counters_(counters), sleepers_(executor) {}

  LsnWaiters& sleepers() { return sleepers_; }
  // `done` is told when `lsn` is answered, or of the end.
  void add(Lsn lsn, std::function<void(Status)> done) { waiters_.emplace(lsn, std::move(done)); }

  // Of one step: what a task tells once the lock is free.
  struct Due {
    Counters& counters;
    std::vector<std::pair<CommitCallback, Lsn>> callbacks;
    std::vector<std::function<void(Status)>> waiters;

    bool empty() const { return callbacks.empty() && waiters.empty(); }
    // `waited`: for how long they have been due.
    void tell(io::Nanos waited) const;
  };
  Due nothing_due() const { return {counters_, {}, {}}; }
  // The group is answered, at `group.answered_at`.
  void take_members(CommitGroup& group, Due& due);
  void note_times(const CommitGroup& group);
  // Wakes the threads, too; durable <= answered.
  void take_reached(Lsn answered, Lsn durable, Due& due, LsnWaiters::WakeUp& wake_up);

  // Everybody who is not answered is told `why`: nothing will be. Whoever owns the submissions
  // gives them to fail_members() as well.
  using Calls = std::vector<std::function<void()>>;
  static void fail_members(std::vector<Submission>& members, const Error& why, Calls& calls);
  void fail_all(const Error& why, Calls& calls, LsnWaiters::WakeUp& wake_up);

 private:
  Counters& counters_;
  std::multimap<Lsn, std::function<void(Status)>> waiters_;
  LsnWaiters sleepers_;  // in wait_durable()
};

}  // namespace hexad::core
