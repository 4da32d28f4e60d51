#include "core/commit/commit_answers.h"

namespace hexad::core {

void CommitAnswers::take_members(CommitGroup& group, Due& due) {
  for (Submission& member : group.members) {
    member.budget.reset();
    if (member.done) due.callbacks.emplace_back(std::move(member.done), member.lsn);
    counters_.add(CounterId::kTransactions);
  }
}

// Of an answered group: how long its transactions were in each state. The states follow each other
// without gaps, so that their sums add up to that of kCommitLat.
void CommitAnswers::note_times(const CommitGroup& group) {
  std::uint64_t count = 0;
  io::Nanos throttled = 0;
  io::Nanos prepared = 0;
  io::Nanos queued = 0;
  io::Nanos all = 0;
  for (const Submission& member : group.members) {
    if (member.began < 0) continue;
    ++count;
    throttled += member.admitted - member.began;
    prepared += member.queued - member.admitted;
    queued += group.taken_at - member.queued;
    all += group.answered_at - member.began;
  }
  if (count == 0) return;
  const auto times = static_cast<io::Nanos>(count);
  counters_.add_latency(CounterId::kThrottleLatCount, count, throttled);
  counters_.add_latency(CounterId::kStatePrepareLatCount, count, prepared);
  counters_.add_latency(CounterId::kStateKvQueuedLatCount, count, queued);
  counters_.add_latency(CounterId::kStateAioWaitLatCount, count,
                        times * (group.written_at - group.taken_at));
  counters_.add_latency(CounterId::kStateKvCommittingLatCount, count,
                        times * (group.over_at - group.written_at));
  counters_.add_latency(CounterId::kStateIoDoneLatCount, count,
                        times * (group.answered_at - group.over_at));
  counters_.add_latency(CounterId::kCommitLatCount, count, all);
}

void CommitAnswers::take_reached(Lsn answered, Lsn durable, Due& due, LsnWaiters::WakeUp& wake_up) {
  sleepers_.wake_reached(answered, durable, wake_up);
  while (!waiters_.empty() && waiters_.begin()->first <= answered) {
    due.waiters.push_back(std::move(waiters_.begin()->second));
    waiters_.erase(waiters_.begin());
  }
}

void CommitAnswers::Due::tell(io::Nanos waited) const {
  if (!callbacks.empty()) {
    const auto count = static_cast<io::Nanos>(callbacks.size());
    counters.add_latency(CounterId::kStateKvDoneLatCount, callbacks.size(), count * waited);
  }
  for (const auto& [done, lsn] : callbacks) done(lsn);
  for (const auto& waiter : waiters) waiter(ok_status());
}

void CommitAnswers::fail_members(std::vector<Submission>& members, const Error& why, Calls& calls) {
  for (Submission& member : members) {
    member.budget.reset();
    if (!member.done) continue;
    calls.emplace_back([done = std::move(member.done), why] { done(why); });
  }
}

void CommitAnswers::fail_all(const Error& why, Calls& calls, LsnWaiters::WakeUp& wake_up) {
  for (auto& [lsn, waiter] : waiters_) {
    calls.emplace_back([waiter = std::move(waiter), why] { waiter(why); });
  }
  waiters_.clear();
  sleepers_.wake_all(wake_up);
}

}  // namespace hexad::core
