#include "core/commit/lsn_waiters.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hexad::core {

LsnWaiters::Woken LsnWaiters::sleep(io::Lock& lock, Lsn lsn, Until until) {
  const auto sleeper = std::make_shared<Sleeper>(executor_, until);
  sleepers_.emplace(lsn, sleeper);
  lock.unlock();
  sleeper->told.wait();
  return sleeper->why;
}

LsnWaiters::Woken LsnWaiters::sleep_for(io::Lock& lock, Lsn lsn, Until until, io::Nanos limit) {
  const auto sleeper = std::make_shared<Sleeper>(executor_, until);
  sleepers_.emplace(lsn, sleeper);
  lock.unlock();
  if (sleeper->told.wait_for(limit)) return sleeper->why;
  lock.lock();
  const auto [first, last] = sleepers_.equal_range(lsn);
  const auto at = std::find_if(first, last, [&](const auto& one) { return one.second == sleeper; });
  const bool woken = at == last;
  if (!woken) sleepers_.erase(at);
  lock.unlock();
  if (!woken) return Woken::kTimeOver;
  sleeper->told.wait();  // WU1
  return sleeper->why;
}

LsnWaiters::Sleepers::iterator LsnWaiters::wake(Sleepers::iterator at, Woken why, WakeUp& wake_up) {
  at->second->why = why;
  wake_up.woken_.push_back(std::move(at->second));
  return sleepers_.erase(at);
}

void LsnWaiters::wake_reached(Lsn answered, Lsn durable, WakeUp& wake_up) {
  auto at = sleepers_.begin();
  while (at != sleepers_.end() && at->first <= answered) {
    const bool reached = at->second->until == Until::kAnswered || at->first <= durable;
    at = reached ? wake(at, Woken::kReached, wake_up) : std::next(at);
  }
}

void LsnWaiters::wake_one(Lsn lsn, WakeUp& wake_up) {
  const auto at = sleepers_.lower_bound(lsn);
  if (at != sleepers_.end()) wake(at, Woken::kLook, wake_up);
}

void LsnWaiters::wake_all(WakeUp& wake_up) {
  for (auto at = sleepers_.begin(); at != sleepers_.end();) at = wake(at, Woken::kLook, wake_up);
}

LsnWaiters::WakeUp::~WakeUp() {
  for (const std::shared_ptr<Sleeper>& sleeper : woken_) sleeper->told.set();
}

}  // namespace hexad::core
