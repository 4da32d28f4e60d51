#include "core/jobs/catch_up_job.h"

#include <algorithm>
#include <utility>

namespace hexad::core {

void CatchUpJob::start() {
  total_.store(work_.missing(), std::memory_order_release);
  anew_.store(true, std::memory_order_release);
  next_.store(0, std::memory_order_release);
  started_.store(true, std::memory_order_release);
}

std::optional<io::Nanos> CatchUpJob::due() {
  const bool wanted = started_.load(std::memory_order_acquire) &&
                      !stopping_.load(std::memory_order_acquire) && work_.wanted();
  if (!wanted) return std::nullopt;
  return std::max<io::Nanos>(0, next_.load(std::memory_order_acquire) - clock_.now());
}

Result<bool> CatchUpJob::step() {
  pace_.begin();
  const std::uint64_t used_before = work_.used();
  if (anew_.exchange(false, std::memory_order_acq_rel)) pause_.reset();
  Result<bool> done = work();
  if (!done.ok()) {  // the next pass begins anew
    position_.clear();
    problem_.clear();
  }
  io::Nanos rest = work_.used() == used_before ? 0 : pace_.worked();
  if (position_.empty() && work_.wanted()) {
    rest = pause_.next();
  }
  next_.store(clock_.now() + rest, std::memory_order_release);
  return done;
}

Result<bool> CatchUpJob::work() {
  if (!work_.wanted()) return false;
  ScrubOptions piece;
  piece.from = position_;
  piece.progress = [](const ScrubReport&) { return false; };
  HEXAD_TRY_ASSIGN(const ScrubReport report, work_.fill(piece));
  if (stopping_.load(std::memory_order_acquire)) return true;
  for (const Finding& finding : report.findings) {
    if (!finding.repaired) problem_ = finding.subject + ": " + finding.problem;
  }
  position_ = report.next;
  if (!position_.empty()) return true;
  const std::string problem = std::exchange(problem_, {});
  if (!problem.empty()) return Error{ErrorCode::kUnavailable, problem, ""};
  HEXAD_TRY(work_.settle());
  return true;
}

JobProgress CatchUpJob::progress() {
  const std::uint64_t total = total_.load(std::memory_order_acquire);
  if (!started_.load(std::memory_order_acquire) || !work_.wanted()) return {};
  return {total - std::min(total, work_.missing()), total, "bytes"};
}

}  // namespace hexad::core
