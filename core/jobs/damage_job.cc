#include "core/jobs/damage_job.h"

#include <algorithm>

namespace hexad::core {

std::optional<io::Nanos> DamageJob::due() {
  if (!wanted_.load(std::memory_order_acquire)) return std::nullopt;
  return std::max<io::Nanos>(0, not_before_.load(std::memory_order_acquire) - clock_.now());
}

Result<bool> DamageJob::step() {
  // Before it looks: who asks from here on is heard after this attempt.
  wanted_.store(false, std::memory_order_release);
  Result<bool> more = write_();
  if (!more.ok()) not_before_.store(clock_.now() + kPause, std::memory_order_release);
  if (!more.ok() || *more) want();
  return more;
}

}  // namespace hexad::core
