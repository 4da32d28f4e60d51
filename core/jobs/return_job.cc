#include "core/jobs/return_job.h"

#include <algorithm>

namespace hexad::core {

void ReturnJob::ask_for(DeviceId id) {
  {
    const io::Lock lock(mutex_);
    schedule_.ask_for(id, clock_.now());
  }
  note_change();
}

std::optional<ReturnSchedule::Standing> ReturnJob::standing(DeviceId id) {
  if (!by_themselves_) return std::nullopt;
  const io::Lock lock(mutex_);
  return schedule_.standing(id);
}

std::optional<io::Nanos> ReturnJob::due() {
  if (!by_themselves_ || stopping_.load()) return std::nullopt;
  if (changed_.load(std::memory_order_acquire)) return 0;
  const io::Lock lock(mutex_);
  const std::optional<io::Nanos> next = schedule_.next();
  if (!next.has_value()) return std::nullopt;
  return std::max<io::Nanos>(0, *next - clock_.now());
}

Result<bool> ReturnJob::step() {
  if (!by_themselves_ || stopping_.load()) return false;
  // Before it looks: who leaves from here on is seen by the next step.
  changed_.store(false, std::memory_order_release);
  const std::vector<AwayDevice> away = work_.away();
  std::optional<DeviceId> due;
  {
    const io::Lock lock(mutex_);
    const io::Nanos now = clock_.now();
    schedule_.update(away, now);
    due = schedule_.due(now);
  }
  if (!due.has_value()) return false;
  const Attempt attempt = work_.attempt(*due);
  const io::Lock lock(mutex_);
  const io::Nanos now = clock_.now();
  switch (attempt.outcome) {
    case Outcome::kBack:
      schedule_.note_back(*due, now);
      return true;
    case Outcome::kNotThere:
      schedule_.note_not_there(*due, now);
      return false;
    case Outcome::kRefused:
      schedule_.note_refused(*due, attempt.why, now);
      return false;
    case Outcome::kBusy:
      schedule_.put_off(*due, now);
      return false;
    case Outcome::kFailed:
      schedule_.note_not_there(*due, now);
      break;
    case Outcome::kLeft:
      schedule_.note_back(*due, now);
      note_change();
      break;
  }
  return Error{ErrorCode::kUnavailable, attempt.why, ""};
}

}  // namespace hexad::core
