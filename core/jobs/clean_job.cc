#include "core/jobs/clean_job.h"

namespace hexad::core {

std::optional<io::Nanos> CleanJob::due() {
  return asked_.load(std::memory_order_acquire) ? std::optional<io::Nanos>(0) : std::nullopt;
}

// After an error whoever sees that more has died asks again.
Result<bool> CleanJob::step() {
  // Before looking: who asks from here on is heard after this step.
  asked_.store(false, std::memory_order_release);
  HEXAD_TRY_ASSIGN(const bool moved, clean_());
  if (moved) asked_.store(true, std::memory_order_release);
  return moved;
}

}  // namespace hexad::core
