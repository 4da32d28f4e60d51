#include "core/commit/lsn_waiters.h"

namespace hexad::core {

void LsnWaiters::sleep(io::Lock& lock, Lsn lsn, Until until) {
  Sleeper sleeper(executor_);
  sleeper.until = until;
  sleepers_.emplace(lsn, &sleeper);
  sleeper.condition.wait(lock, [&] { return sleeper.woken; });
}

bool LsnWaiters::sleep_for(io::Lock& lock, Lsn lsn, Until until, io::Nanos limit) {
  Sleeper sleeper(executor_);
  sleeper.until = until;
  const auto at = sleepers_.emplace(lsn, &sleeper);
  const io::Nanos end = executor_.clock().now() + limit;
  while (!sleeper.woken) {
    const io::Nanos left = end - executor_.clock().now();
    if (left <= 0) break;
    sleeper.condition.wait_for(lock, left);
  }
  if (!sleeper.woken) sleepers_.erase(at);  // whoever wakes it has taken it out
  return sleeper.woken;
}

LsnWaiters::Sleepers::iterator LsnWaiters::wake(Sleepers::iterator at) {
  at->second->woken = true;
  at->second->condition.notify_one();
  return sleepers_.erase(at);
}

void LsnWaiters::wake_reached(Lsn answered, Lsn durable) {
  auto at = sleepers_.begin();
  while (at != sleepers_.end() && at->first <= answered) {
    const bool reached = at->second->until == Until::kAnswered || at->first <= durable;
    at = reached ? wake(at) : std::next(at);
  }
}

void LsnWaiters::wake_one(Lsn lsn) {
  const auto at = sleepers_.lower_bound(lsn);
  if (at != sleepers_.end()) wake(at);
}

void LsnWaiters::wake_all() {
  for (auto at = sleepers_.begin(); at != sleepers_.end();) at = wake(at);
}

}  // namespace hexad::core
