#include "core/job/closing.h"

#include <utility>

namespace hexad::core {

Status Closing::wait(Caller caller, const std::function<void()>& start,
                     const std::function<std::optional<Error>()>& silent) {
  constexpr io::Nanos kSecond = 1'000'000'000;
  io::Lock lock(mutex_);
  if (caller == Caller::kLater && !std::exchange(left_, false)) return {};
  start();
  while (!result_.has_value()) {
    changed_.wait_for(lock, kSecond);
    if (result_.has_value()) break;
    std::optional<Error> why = silent();
    if (!why.has_value()) continue;
    left_ = true;
    return *std::move(why);
  }
  return *result_;
}

void Closing::finish(Status outcome) {
  const io::Lock lock(mutex_);
  result_ = std::move(outcome);
  changed_.notify_all();
}

bool Closing::may_end() {
  const io::Lock lock(mutex_);
  return !left_ || result_.has_value();
}

}  // namespace hexad::core
