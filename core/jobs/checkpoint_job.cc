#include "core/jobs/checkpoint_job.h"

#include <algorithm>

namespace hexad::core {

void CheckpointJob::note_merged() {
  install_at_.store(clock_.now() + kInstallAfter, std::memory_order_release);
}

std::optional<io::Nanos> CheckpointJob::due() {
  if (wanted_.load(std::memory_order_acquire) || noted_due_.load(std::memory_order_acquire)) {
    return io::Nanos{0};
  }
  const io::Nanos at = install_at_.load(std::memory_order_acquire);
  if (at == 0) return std::nullopt;
  return std::max<io::Nanos>(0, at - clock_.now());
}

// Without a checkpoint the log fills up, and the commit that needs room makes it itself and gets
// the error.
Result<bool> CheckpointJob::step() {
  // Before looking: who asks from here on is heard after this attempt. What was due is looked at
  // again: the attempt before may have begun when it was asked for, and done it.
  bool now = wanted_.exchange(false, std::memory_order_acq_rel);
  const bool noted = noted_due_.exchange(false, std::memory_order_acq_rel);
  io::Nanos at = install_at_.load(std::memory_order_acquire);
  if (at != 0 && at <= clock_.now()) {
    // A merge that ends meanwhile has set a later moment, which stays.
    install_at_.compare_exchange_strong(at, 0, std::memory_order_acq_rel);
    now = now || work_.unmerged();
  }
  if (!now && !(noted && work_.due())) return false;
  const Status made = work_.make();
  // What it committed itself has asked for another one, perhaps. The next commit asks again.
  if (!made.ok()) noted_due_.store(false, std::memory_order_release);
  HEXAD_TRY(made);
  return true;
}

}  // namespace hexad::core
