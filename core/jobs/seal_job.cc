#include "core/jobs/seal_job.h"

#include <algorithm>

namespace hexad::core {

bool SealJob::want() {
  if (at_.load(std::memory_order_acquire) != kNever) return false;
  io::Nanos never = kNever;
  return at_.compare_exchange_strong(never, clock_.now() + kDelay, std::memory_order_acq_rel);
}

// The flag is cleared before sealing: a commit that comes during the seal sets it again.
bool SealJob::seal_now() {
  if (at_.exchange(kNever, std::memory_order_acq_rel) == kNever) return false;
  seal_();
  return true;
}

std::optional<io::Nanos> SealJob::due() {
  const io::Nanos at = at_.load(std::memory_order_acquire);
  if (at == kNever) return std::nullopt;
  return std::max<io::Nanos>(0, at - clock_.now());
}

}  // namespace hexad::core
