#include "core/commit/flush_gate.h"

#include <utility>

#include "base/assert.h"

namespace hexad::core {

std::vector<FlushNeed> FlushGate::arrive(FlushWaiter& waiter, const std::vector<FlushNeed>& needs) {
  std::vector<FlushNeed> now;
  for (const FlushNeed& need : needs) {
    if (need.domain >= domains_.size()) domains_.resize(need.domain + 1);
    Domain& domain = domains_[need.domain];
    if (domain.poisoned) {  // G3
      waiter.flush_failed = true;
      continue;
    }
    ++waiter.flushes_left;
    if (domain.covered.empty()) {
      domain.covered.push_back(&waiter);
      now.push_back(need);
    } else {
      // G2: the one under way began before the writes had completed.
      domain.waiting.push_back(&waiter);
      domain.through = need.through;
    }
  }
  return now;
}

FlushGate::Ended FlushGate::ended(FlushDomain index, FlushEnd how) {
  Domain& domain = domains_[index];
  HEXAD_ASSERT(!domain.covered.empty());
  Ended result;
  const auto settle = [&](std::vector<FlushWaiter*>& waiters) {
    for (FlushWaiter* waiter : std::exchange(waiters, {})) {
      if (how == FlushEnd::kFailed) waiter->flush_failed = true;
      if (--waiter->flushes_left == 0) result.settled.push_back(waiter);
    }
  };
  settle(domain.covered);
  if (how == FlushEnd::kFailed) {
    domain.poisoned = true;
    settle(domain.waiting);
  } else if (!domain.waiting.empty()) {
    domain.covered = std::exchange(domain.waiting, {});
    result.next = FlushNeed{index, domain.through};
  }
  return result;
}

}  // namespace hexad::core
