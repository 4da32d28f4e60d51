#include "core/jobs/drain_job.h"

#include <algorithm>

namespace hexad::core {

DrainJob::DrainJob(io::Executor& executor, io::Nanos limit, Work work)
    : clock_(executor.clock()),
      limit_(limit),
      every_(std::clamp(limit / kLooks, kLeastBetween, kMostBetween)),
      work_(std::move(work)),
      last_(clock_.now()),
      mutex_(executor) {}

std::optional<DrainJob::Standing> DrainJob::standing(DeviceId id) {
  const io::Lock lock(mutex_);
  const auto found = away_.find(id);
  if (found == away_.end()) return std::nullopt;
  return Standing{std::max<io::Nanos>(0, limit_ - found->second.waited), found->second.refused};
}

bool DrainJob::has_drained(DeviceId id) {
  const io::Lock lock(mutex_);
  return drained_.count(id) > 0;
}

void DrainJob::note_drained(DeviceId id) {
  const io::Lock lock(mutex_);
  away_.erase(id);
  drained_.insert(id);
}

void DrainJob::note_asked_to_drain(DeviceId id) {
  const io::Lock lock(mutex_);
  drained_.erase(id);
}

void DrainJob::note_asked_to_end(DeviceId id) {
  const io::Lock lock(mutex_);
  drained_.erase(id);
  left_alone_.insert(id);
}

std::optional<io::Nanos> DrainJob::due() {
  if (limit_ == 0) return std::nullopt;
  return std::max<io::Nanos>(0, last_ + every_ - clock_.now());
}

Result<bool> DrainJob::step() {
  const io::Nanos now = clock_.now();
  if (limit_ == 0 || now < last_ + every_) return false;
  // DT1
  const io::Nanos passed = std::min(now - last_, 2 * every_);
  last_ = now;
  const Result<bool> drained = drain_all(look(passed));
  const Result<bool> ended = end_those_that_are_back();
  const bool failed_before = std::exchange(failed_, !drained.ok() || !ended.ok());
  HEXAD_TRY(drained.status());
  HEXAD_TRY(ended.status());
  // What failed is over, which nobody would hear of otherwise.
  return *drained || *ended || failed_before;
}

std::vector<DeviceId> DrainJob::look(io::Nanos passed) {
  const std::vector<DeviceId> away = work_.away();
  const io::Lock lock(mutex_);
  std::map<DeviceId, Away> now;
  std::set<DeviceId> left_alone;
  std::vector<DeviceId> due;
  for (const DeviceId id : away) {
    if (left_alone_.count(id) > 0) {
      left_alone.insert(id);
      continue;
    }
    Away& one = now[id];
    // One that is seen for the first time may have left just now.
    if (const auto before = away_.find(id); before != away_.end()) {
      one = std::move(before->second);
      one.waited += passed;
    }
    if (one.waited >= limit_) due.push_back(id);
  }
  away_ = std::move(now);
  left_alone_ = std::move(left_alone);
  return due;
}

Result<bool> DrainJob::drain_all(const std::vector<DeviceId>& due) {
  bool did = false;
  for (const DeviceId id : due) {
    HEXAD_TRY_ASSIGN(Attempt attempt, work_.drain(id));
    did = did || attempt.outcome == Outcome::kDrained;
    if (attempt.outcome != Outcome::kRefused) continue;
    const io::Lock lock(mutex_);
    away_[id].refused = std::move(attempt.why);
  }
  return did;
}

Result<bool> DrainJob::end_those_that_are_back() {
  std::set<DeviceId> drained;
  {
    const io::Lock lock(mutex_);
    drained = drained_;
  }
  bool did = false;
  for (const DeviceId id : drained) {
    HEXAD_TRY_ASSIGN(const bool ended, work_.end(id));
    if (!ended) continue;
    const io::Lock lock(mutex_);
    drained_.erase(id);
    did = true;
  }
  return did;
}

}  // namespace hexad::core
