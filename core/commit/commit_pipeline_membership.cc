// Pauses of the pipeline while the membership changes, and its end.
#include <algorithm>
#include <utility>

#include "core/commit/commit_pipeline.h"
#include "io/refused.h"

namespace hexad::core {

void CommitPipeline::pause() {
  const io::Lock lock(mutex_);
  ++pauses_;
}

void CommitPipeline::wait_quiet() {
  io::Lock lock(mutex_);
  changed_.wait(lock, [this]() HEXAD_REQUIRES(mutex_) {
    return std::all_of(in_flight_.begin(), in_flight_.end(),
                       [](const auto& group) { return group->io_done(); });
  });
}

Result<kv::PreparedBlock> CommitPipeline::begin_epoch(std::vector<kv::LogArea> areas, Epoch epoch) {
  const io::Lock lock(mutex_);
  HEXAD_ASSERT(pauses_ > 0);
  HEXAD_TRY(check_reserve(1));
  HEXAD_TRY(log_.set_areas(std::move(areas)));
  return log_.fence(log_.last(), epoch);
}

std::vector<io::IoRequest*> CommitPipeline::refused_requests() {
  const io::Lock lock(mutex_);
  HEXAD_ASSERT(pauses_ > 0);
  std::vector<io::IoRequest*> refused;
  for (const auto& group : in_flight_) {
    for (Round* round : {&group->ahead, &group->main, &group->behind}) {
      for (io::IoRequest& request : round->batch.requests) {
        if (io::is_refused(request)) refused.push_back(&request);
      }
    }
  }
  return refused;
}

std::set<DeviceId> CommitPipeline::failed_devices() {
  const io::Lock lock(mutex_);
  std::set<DeviceId> failed = members_.poisoned();
  for (const auto& group : in_flight_) {
    for (const Round* round : {&group->ahead, &group->main, &group->behind}) {
      std::set<FlushDomain> unflushed;
      for (const io::IoRequest& request : round->batch.requests) {
        if (request.status.ok()) unflushed.insert(members_.flush_domain(request.device));
        if (request.status.ok() || io::is_refused(request)) continue;
        const Member* member = members_.owner(request.device);
        HEXAD_ASSERT(member != nullptr);
        failed.insert(member->id);
      }
      unflushed.erase(kNoFlushDomain);
      const bool told = std::any_of(unflushed.begin(), unflushed.end(), [this](FlushDomain domain) {
        return members_.flush_failed(domain);
      });
      if (!round->flush_failed || told) continue;
      // No device says that it has failed one, so all that may have are to blame: nothing is
      // acknowledged without its flush (R11).
      for (const DeviceId id : members_.usable_ids()) {
        const io::Device* const device = members_.find(id)->device.get();
        if (unflushed.contains(members_.flush_domain(device))) failed.insert(id);
      }
    }
  }
  return failed;
}

void CommitPipeline::repaired() {
  {
    const io::Lock lock(mutex_);
    repair_pending_ = false;
  }
  resume();
}

void CommitPipeline::resume() {
  {
    const io::Lock lock(mutex_);
    HEXAD_ASSERT(pauses_ > 0);
    --pauses_;
    advance();
    changed_.notify_all();
  }
  if (progress_) progress_();
  pump();
}

void CommitPipeline::stop(const Error& why) {
  const io::NoUnwinding none("the end of the commits");
  std::vector<std::function<void()>> calls;
  {
    const io::Lock lock(mutex_);
    if (stopped_.has_value()) return;
    stopped_ = why;
    has_stopped_.store(true, std::memory_order_release);
    const auto fail = [&](std::vector<Submission>& members) {
      for (Submission& member : members) {
        member.budget.reset();
        if (!member.done) continue;
        calls.emplace_back([done = std::move(member.done), why] { done(why); });
      }
    };
    for (const auto& group : in_flight_) fail(group->members);
    fail(open_);
    for (auto& [lsn, waiter] : waiters_) {
      calls.emplace_back([waiter = std::move(waiter), why] { waiter(why); });
    }
    waiters_.clear();
    sleepers_.wake_all();
    changed_.notify_all();
  }
  if (calls.empty()) return;
  post([calls = std::move(calls)] {
    for (const auto& call : calls) call();
  });
}

}  // namespace hexad::core
