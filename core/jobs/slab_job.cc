#include "core/jobs/slab_job.h"

#include <algorithm>

namespace hexad::core {

void SlabJob::want(io::Nanos wait) {
  anew_.store(true, std::memory_order_release);
  next_.store(clock_.now() + wait, std::memory_order_release);
  asked_.store(true, std::memory_order_release);
}

void SlabJob::want_again(io::Nanos wait) {
  if (asked_.exchange(true, std::memory_order_acq_rel)) return;
  next_.store(clock_.now() + wait, std::memory_order_release);
}

std::optional<io::Nanos> SlabJob::due() {
  const bool wanted = asked_.load(std::memory_order_acquire) && held_.load() == 0;
  if (!wanted || stopping_.load(std::memory_order_acquire)) return std::nullopt;
  return std::max<io::Nanos>(0, next_.load(std::memory_order_acquire) - clock_.now());
}

Result<bool> SlabJob::step() {
  pace_.begin();
  // Before looking: who asks from here on is heard after this round.
  asked_.store(false, std::memory_order_release);
  if (anew_.exchange(false, std::memory_order_acq_rel)) pause_.reset();
  const Result<Round> round =
      move_some_([this] { return !stopping_.load(std::memory_order_acquire); });
  if (round.ok() && round->left == 0) {
    done_.store(0, std::memory_order_release);
    left_.store(0, std::memory_order_release);
    pause_.reset();
    if (round->leaving) want_again(kLeaving);
    return true;
  }
  io::Nanos rest = pace_.worked();
  if (round.ok() && round->moved > 0) {
    done_.fetch_add(round->moved, std::memory_order_acq_rel);
    left_.store(round->left - std::min(round->left, round->moved), std::memory_order_release);
    pause_.reset();
  } else {
    if (round.ok()) left_.store(round->left, std::memory_order_release);
    rest = !round.ok() || !round->given_up ? pause_.next() : pause_.coming();
  }
  want_again(rest);
  HEXAD_TRY(round.status());
  if (round->moved == 0 && !round->problem.empty()) {
    return Error{ErrorCode::kUnavailable, round->problem, ""};
  }
  return true;
}

JobProgress SlabJob::progress() {
  const std::uint64_t left = left_.load(std::memory_order_acquire);
  if (left == 0) return {};
  const std::uint64_t done = done_.load(std::memory_order_acquire);
  return {done, done + left, "slabs"};
}

}  // namespace hexad::core
