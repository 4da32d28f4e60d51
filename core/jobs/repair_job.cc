#include "core/jobs/repair_job.h"

namespace hexad::core {

std::optional<io::Nanos> RepairJob::due() {
  const bool now =
      wanted_.load(std::memory_order_acquire) || suspects_.load(std::memory_order_acquire);
  return now ? std::optional<io::Nanos>(0) : std::nullopt;
}

Result<bool> RepairJob::step() {
  // Before either: who asks from here on is heard after this attempt.
  suspects_.store(false, std::memory_order_release);
  if (wanted_.exchange(false, std::memory_order_acq_rel)) work_.repair();
  work_.lose_suspects();
  return true;
}

}  // namespace hexad::core
