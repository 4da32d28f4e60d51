// Pauses of the pipeline while the membership changes, and its end.
#include <utility>

#include "core/commit/commit_pipeline.h"

namespace hexad::core {

void CommitPipeline::pause() {
  const io::Lock lock(mutex_);
  state_.pause();
}

void CommitPipeline::wait_quiet() {
  io::Lock lock(mutex_);
  changed_.wait(lock, [this]() HEXAD_REQUIRES(mutex_) { return in_flight_.all_io_done(); });
}

Result<kv::PreparedBlock> CommitPipeline::begin_epoch(std::vector<kv::LogArea> areas, Epoch epoch) {
  const io::Lock lock(mutex_);
  HEXAD_ASSERT(state_.is_paused());
  HEXAD_TRY(log_.check_reserve(1));
  HEXAD_TRY(log_.writer().set_areas(std::move(areas)));
  return log_.writer().fence(log_.writer().last(), epoch);
}

std::vector<io::IoRequest*> CommitPipeline::refused_requests() {
  const io::Lock lock(mutex_);
  HEXAD_ASSERT(state_.is_paused());
  return in_flight_.refused_requests();
}

std::set<DeviceId> CommitPipeline::failed_devices() {
  const io::Lock lock(mutex_);
  return in_flight_.failed_devices();
}

void CommitPipeline::repaired() {
  {
    const io::Lock lock(mutex_);
    state_.repaired();
  }
  resume();
}

void CommitPipeline::resume() {
  {
    LsnWaiters::WakeUp wake_up;
    const io::Lock lock(mutex_);
    state_.resume();
    advance(wake_up);
    changed_.notify_all();
  }
  if (progress_) progress_();
  pump();
}

void CommitPipeline::stop(const Error& why) {
  const io::NoUnwinding none("the end of the commits");
  CommitAnswers::Calls calls;
  {
    LsnWaiters::WakeUp wake_up;
    const io::Lock lock(mutex_);
    if (state_.stopped().has_value()) return;
    state_.stop(why);
    for (const auto& group : in_flight_.groups()) {
      CommitAnswers::fail_members(group->members, why, calls);
    }
    CommitAnswers::fail_members(open_.submissions(), why, calls);
    answers_.fail_all(why, calls, wake_up);
    changed_.notify_all();
  }
  if (calls.empty()) return;
  post([calls = std::move(calls)] {
    for (const auto& call : calls) call();
  });
}

}  // namespace hexad::core
