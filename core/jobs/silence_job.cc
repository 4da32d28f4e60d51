#include "core/jobs/silence_job.h"

#include <algorithm>

namespace hexad::core {

std::optional<io::Nanos> SilenceJob::due() {
  if (every_ == 0) return std::nullopt;
  return std::max<io::Nanos>(0, next_ - clock_.now());
}

Result<bool> SilenceJob::step() {
  if (every_ == 0 || clock_.now() < next_) return false;
  next_ = clock_.now() + every_;
  return look_();
}

}  // namespace hexad::core
