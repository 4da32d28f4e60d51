#include "core/jobs/zone_job.h"

namespace hexad::core {

std::optional<io::Nanos> ZoneJob::due() {
  return asked_.load(std::memory_order_acquire) ? std::optional<io::Nanos>(0) : std::nullopt;
}

// Without the zone space runs out, and the commit that needs it makes it itself and gets the error.
Result<bool> ZoneJob::step() {
  // Before looking: who asks from here on is heard after this attempt.
  asked_.store(false, std::memory_order_release);
  if (!work_.wanted()) return false;
  const Status made = work_.make();
  // That all slabs are taken is no failure; that there is no room below them is.
  if (!made.ok() && made.error().code == ErrorCode::kNoSpace && !work_.possible()) return true;
  HEXAD_TRY(made);
  return true;
}

}  // namespace hexad::core
