#include "core/jobs/clean_job.h"

#include <algorithm>

namespace hexad::core {

bool CleanJob::want_rest() {
  last_commit_.store(clock_.now(), std::memory_order_release);
  return !rest_wanted_.exchange(true, std::memory_order_acq_rel);
}

std::optional<io::Nanos> CleanJob::due() {
  if (asked_.load(std::memory_order_acquire)) return 0;
  if (!rest_wanted_.load(std::memory_order_acquire)) return std::nullopt;
  const io::Nanos rested = clock_.now() - last_commit_.load(std::memory_order_acquire);
  return std::max<io::Nanos>(0, kRest - rested);
}

// After an error whoever sees that more has died asks again.
Result<bool> CleanJob::step() {
  // Before looking: who asks from here on is heard after this step.
  std::atomic<bool>& asked = asked_.load(std::memory_order_acquire) ? asked_ : rest_wanted_;
  asked.store(false, std::memory_order_release);
  HEXAD_TRY_ASSIGN(const bool moved, &asked == &asked_ ? work_.clean() : work_.rest());
  if (moved) asked.store(true, std::memory_order_release);
  return moved;
}

}  // namespace hexad::core
