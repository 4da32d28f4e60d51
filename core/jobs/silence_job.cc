#include "core/jobs/silence_job.h"

#include <algorithm>
#include <utility>

namespace hexad::core {

std::optional<io::Nanos> SilenceJob::due() {
  if (every_ == 0) return std::nullopt;
  return std::max<io::Nanos>(0, next_ - clock_.now());
}

Result<bool> SilenceJob::step() {
  const io::Nanos now = clock_.now();
  if (every_ == 0 || now < next_) return false;
  const io::Nanos late = now - std::exchange(next_, now + every_);
  // The process was stopped, or did not get to run: the answers may be there, and nobody has seen
  // them yet.
  if (late > every_) return false;
  return look_();
}

}  // namespace hexad::core
