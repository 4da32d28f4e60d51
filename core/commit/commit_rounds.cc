#include "core/commit/commit_rounds.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "core/commit/commit_pipeline.h"
#include "io/no_unwinding.h"
#include "io/recall.h"

namespace hexad::core {

namespace {

constexpr io::Nanos kAnyTime = std::numeric_limits<io::Nanos>::max();

}  // namespace

CommitRounds::CommitRounds(io::Executor& executor, const Members& members, Counters& counters,
                           io::Mutex& mutex, io::CondVar& changed, CommitPipeline& pipeline)
    : executor_(executor),
      members_(members),
      counters_(counters),
      mutex_(mutex),
      changed_(changed),
      pipeline_(pipeline),
      gate_(members.flush_domains()),
      substitutes_(executor, mutex, changed) {}

// Without the lock. Mostly one round of writes: cells and log blocks go out together; recovery
// proves the cells of what was not acknowledged (R7). Cells ahead are durable before the log knows
// of them, so that there is nothing to prove.
void CommitRounds::run(CommitGroup* group, Waiting waiting) {
  const io::NoUnwinding none("the requests of commits");
  if (group->ahead.batch.requests.empty()) {
    run_main(*group, waiting);
  } else {
    start(group->ahead, waiting);
  }
}

void CommitRounds::run_main(CommitGroup& group, Waiting waiting) {
  // First what nobody waits for: when the other is over, the group may be gone.
  if (!group.behind.batch.requests.empty()) start(group.behind, Waiting::kCallback);
  start(group.main, waiting);
}

void CommitRounds::start(Round& round, Waiting waiting) {
  io::IoQueue& queue = round.batch.requests.front().device->queue();
  counters_.add(CounterId::kCommitRounds);
  if (waiting == Waiting::kBlocking) {
    if (!run_unless_recalled(round.batch, queue)) {
      const bool left = substitutes_.try_start([this, &round, &queue] {
        queue.wait(round.batch);
        written(round, Waiting::kBlocking);
      });
      if (left) return;
      queue.wait(round.batch);
    }
    written(round, waiting);
    return;
  }
  round.batch.done = [this, &round](io::IoBatch&) { written(round, Waiting::kCallback); };
  queue.submit(round.batch);
}

// False: the thread is called back, and the batch under way.
bool CommitRounds::run_unless_recalled(io::IoBatch& batch, io::IoQueue& queue) {
  if (io::Recall::here() == nullptr) {
    queue.run(batch);
    return true;
  }
  return queue.run_briefly(batch, kAnyTime);
}

bool CommitRounds::wait_unless_recalled(io::IoBatch& batch, io::IoQueue& queue) {
  if (io::Recall::here() != nullptr) return queue.wait_briefly(batch, kAnyTime);
  queue.wait(batch);
  return true;
}

// The writes of the round have completed. What is in volatile caches needs a flush that begins now
// or later. A write that failed needs none: its device is not going to count.
void CommitRounds::written(Round& round, Waiting waiting) {
  const io::NoUnwinding none("the requests of commits");
  if (&round == &round.group->main) round.group->written_at = executor_.clock().now();
  std::vector<FlushNeed> needs;
  for (const io::IoRequest& request : round.batch.requests) {
    // The device may have made the write durable by itself, whatever was asked for.
    if (request.mode == io::WriteMode::kDurable || !request.status.ok()) continue;
    const FlushDomain domain = members_.flush_domain(request.device);
    if (domain == kNoFlushDomain) continue;
    const bool known = std::any_of(needs.begin(), needs.end(),
                                   [&](const FlushNeed& need) { return need.domain == domain; });
    if (!known) needs.push_back({domain, request.device});
  }
  if (needs.empty()) {
    pipeline_.complete(round, waiting);
    return;
  }
  bool settled = false;
  {
    const io::Lock lock(mutex_);
    ++completing_;
    needs = gate_.arrive(round, needs);
    settled = round.flushes_left == 0;
  }
  // From here on the group may be gone: what is left of its flushes may end on other threads.
  if (settled) pipeline_.complete(round, waiting);
  if (waiting == Waiting::kBlocking && !needs.empty()) {
    flush_here(std::move(needs));
    return;
  }
  for (const FlushNeed& need : needs) send_flush(need);
  complete_less();
}

// This thread leaves written().
void CommitRounds::complete_less() {
  const io::Lock lock(mutex_);
  --completing_;
  changed_.notify_all();
}

// The leader flushes on its own thread what nobody else is flushing.
void CommitRounds::flush_here(std::vector<FlushNeed> needs) {
  OwnFlushes own;
  own.needs = std::move(needs);
  own.batches = std::vector<io::IoBatch>(own.needs.size());
  // On this thread alone only where nobody could go on without the device either: all others of
  // its domain fail with it.
  own.submitted = own.needs.size() > 1 || !members_.is_shared(own.needs.front().domain);
  for (std::size_t i = 0; i < own.needs.size(); ++i) {
    counters_.add(CounterId::kCommitFlushes);
    io::Device& through = *own.needs[i].through;
    own.batches[i].requests.push_back(io::IoRequest::flush(through));
    if (own.submitted) through.queue().submit(own.batches[i]);
  }
  end_flushes(std::move(own));
}

// Whether a thread of its own does the rest (C15).
void CommitRounds::end_flushes(OwnFlushes own) {
  const io::NoUnwinding none("the flushes of commits");
  while (own.next < own.needs.size()) {
    io::IoQueue& queue = own.needs[own.next].through->queue();
    io::IoBatch& batch = own.batches[own.next];
    if (!(own.submitted ? wait_unless_recalled(batch, queue) : run_unless_recalled(batch, queue))) {
      own.submitted = true;
      const auto rest = std::make_shared<OwnFlushes>(std::move(own));
      if (substitutes_.try_start([this, rest] { end_flushes(std::move(*rest)); })) return;
      own = std::move(*rest);
      queue.wait(own.batches[own.next]);
    }
    flushed(own.needs[own.next].domain, own.batches[own.next].first_error());
    ++own.next;
  }
  complete_less();
}

// The end of the flush finds its way to flushed() by itself.
void CommitRounds::send_flush(const FlushNeed& need) {
  counters_.add(CounterId::kCommitFlushes);
  const auto batch = std::make_shared<io::IoBatch>();
  batch->requests.push_back(io::IoRequest::flush(*need.through));
  batch->done = [this, batch, domain = need.domain](io::IoBatch&) {
    flushed(domain, batch->first_error());
  };
  need.through->queue().submit(*batch);
}

void CommitRounds::flushed(FlushDomain domain, const Status& status) {
  const io::NoUnwinding none("the requests of commits");
  FlushGate::Ended ended;
  {
    const io::Lock lock(mutex_);
    ++completing_;
    // Whoever asked for the flush that failed, this one does not make up for it (R11).
    const bool durable = status.ok() && !members_.flush_failed(domain);
    ended = gate_.ended(domain, durable ? FlushEnd::kDurable : FlushEnd::kFailed);
  }
  if (ended.next.has_value()) send_flush(*ended.next);
  for (FlushWaiter* waiter : ended.settled) {
    pipeline_.complete(static_cast<Round&>(*waiter), Waiting::kCallback);
  }
  const io::Lock lock(mutex_);
  --completing_;
  changed_.notify_all();
}

}  // namespace hexad::core
