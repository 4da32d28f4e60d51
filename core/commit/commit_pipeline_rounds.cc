// What becomes of a sealed group: its requests, their rounds and flushes, and the answers in order.
#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "core/commit/commit_pipeline.h"
#include "io/recall.h"

namespace hexad::core {

namespace {

// More groups in flight hide latency, fewer make them larger. Where as much waits as makes a group
// large by itself, there may be more of them, for as long as their cells may go out with their log
// blocks (C7): a disk with much to do finishes it at a higher rate.
constexpr std::size_t kMaxGroupsInFlight = 4;
constexpr std::size_t kMaxLargeGroupsInFlight = 8;
// With LogDurability::kFast: groups that are answered and not on all copies yet, and how long one
// may be so before the next commit waits. It bounds what the loss of the fast device can take.
constexpr std::size_t kMaxGroupsBehind = 16;
constexpr io::Nanos kLossWindow = 50'000'000;
// C7.
constexpr std::uint64_t kMaxUnproven = 64 << 20;
constexpr io::Nanos kAnyTime = std::numeric_limits<io::Nanos>::max();

}  // namespace

// All requests of the group, and its place in the order.
CommitGroup* CommitPipeline::admit(kv::PreparedBlock block, std::vector<Submission> members,
                                   io::Nanos taken_at) {
  auto group = std::make_unique<CommitGroup>();
  group->taken_at = taken_at;
  group->members = std::move(members);
  group->block = std::move(block);
  const StripeWriter writer(shape_, space_, members_, counters_, StripeUse::kUser);
  std::vector<io::IoRequest> cells;
  std::uint64_t bytes = 0;
  for (const Submission& member : group->members) {
    group->callers += member.durability == Durability::kDurable ? 1 : 0;
    for (const StripeWrite& stripe : member.stripes) {
      writer.append(stripe, io::WriteMode::kCached, cells);  // choose_modes() has the last word
    }
  }
  for (const io::IoRequest& cell : cells) bytes += cell.length;
  const bool first =
      log_durability_ == LogDurability::kDataFirst || unproven_ + bytes > kMaxUnproven;
  if (first) {
    group->ahead.batch.requests = std::move(cells);
  } else {
    group->main.batch.requests = std::move(cells);
    group->unproven = bytes;
    unproven_ += bytes;
  }
  const auto is_fast = [this](const io::IoRequest& request) {
    return members_.owner(request.device)->role == alloc::DeviceRole::kLog;
  };
  const std::vector<io::IoRequest>& copies = group->block.requests;
  const bool answer_early =
      log_durability_ == LogDurability::kFast && std::any_of(copies.begin(), copies.end(), is_fast);
  for (const io::IoRequest& copy : copies) {
    counters_.add(CounterId::kDeviceBytesLog, copy.length);
    Round& round = answer_early && !is_fast(copy) ? group->behind : group->main;
    round.batch.requests.push_back(copy);
  }
  for (Round* round : {&group->ahead, &group->main, &group->behind}) {
    round->group = group.get();
    round->over = round->batch.requests.empty();
    choose_modes(round->batch.requests);
  }
  if (!group->members.empty()) note_size(*group);
  in_flight_.push_back(std::move(group));
  return in_flight_.back().get();
}

void CommitPipeline::note_size(const CommitGroup& group) {
  std::uint64_t bytes = 0;
  for (const Round* round : {&group.ahead, &group.main, &group.behind}) {
    for (const io::IoRequest& request : round->batch.requests) bytes += request.length;
  }
  counters_.add(CounterId::kGroupBytes, bytes);
  const std::size_t count = group.members.size();
  counters_.add(count >= 64   ? CounterId::kGroupsOf64
                : count >= 16 ? CounterId::kGroupsOf16
                : count >= 8  ? CounterId::kGroupsOf8
                : count >= 4  ? CounterId::kGroupsOf4
                : count >= 2  ? CounterId::kGroupsOf2
                              : CounterId::kGroupsOf1);
}

// Of an answered group: how long its transactions were in each state. The states follow each other
// without gaps, so that their sums add up to that of kCommitLat.
void CommitPipeline::note_times(const CommitGroup& group) {
  std::uint64_t count = 0;
  io::Nanos throttled = 0;
  io::Nanos prepared = 0;
  io::Nanos queued = 0;
  io::Nanos all = 0;
  for (const Submission& member : group.members) {
    if (member.began < 0) continue;
    ++count;
    throttled += member.admitted - member.began;
    prepared += member.queued - member.admitted;
    queued += group.taken_at - member.queued;
    all += group.answered_at - member.began;
  }
  if (count == 0) return;
  const auto times = static_cast<io::Nanos>(count);
  counters_.add_latency(CounterId::kThrottleLatCount, count, throttled);
  counters_.add_latency(CounterId::kStatePrepareLatCount, count, prepared);
  counters_.add_latency(CounterId::kStateKvQueuedLatCount, count, queued);
  counters_.add_latency(CounterId::kStateAioWaitLatCount, count,
                        times * (group.written_at - group.taken_at));
  counters_.add_latency(CounterId::kStateKvCommittingLatCount, count,
                        times * (group.over_at - group.written_at));
  counters_.add_latency(CounterId::kStateIoDoneLatCount, count,
                        times * (group.answered_at - group.over_at));
  counters_.add_latency(CounterId::kCommitLatCount, count, all);
}

// Whether one more group may be in flight.
bool CommitPipeline::has_slot() const {
  const bool large = open_bytes_ >= kLargeGroup && unproven_ + open_bytes_ <= kMaxUnproven;
  const std::size_t most = large ? kMaxLargeGroupsInFlight : kMaxGroupsInFlight;
  if (log_durability_ != LogDurability::kFast) return in_flight_.size() < most;
  std::size_t answered = 0;
  while (answered < in_flight_.size() && in_flight_[answered]->answered) ++answered;
  if (in_flight_.size() - answered >= most) return false;
  if (answered == 0) return true;
  const io::Nanos waiting = executor_.clock().now() - in_flight_.front()->answered_at;
  return answered < kMaxGroupsBehind && waiting < kLossWindow;
}

// How each write becomes durable. Without a volatile cache it is when it completes. The only
// request of a group to its flush domain carries its own flush: one trip to the device. Several are
// plain writes, and one flush follows for all of them: two trips, but one flush.
void CommitPipeline::choose_modes(std::vector<io::IoRequest>& requests) {
  std::vector<std::uint32_t> count(members_.flush_domains());
  for (const io::IoRequest& request : requests) {
    const FlushDomain domain = members_.flush_domain(request.device);
    if (domain != kNoFlushDomain) ++count[domain];
  }
  for (io::IoRequest& request : requests) {
    const FlushDomain domain = members_.flush_domain(request.device);
    if (domain == kNoFlushDomain) {
      request.mode = io::WriteMode::kCached;
    } else if (count[domain] == 1) {
      request.mode = io::WriteMode::kDurable;
    } else {
      request.mode = members_.is_shared(domain) ? io::WriteMode::kShared : io::WriteMode::kCached;
    }
  }
}

// Without the lock. Mostly one round of writes: cells and log blocks go out together; recovery
// proves the cells of what was not acknowledged (R7). Cells ahead are durable before the log knows
// of them, so that there is nothing to prove.
void CommitPipeline::run(CommitGroup* group, Waiting waiting) {
  const io::NoUnwinding none("the requests of commits");
  if (group->ahead.batch.requests.empty()) {
    run_main(*group, waiting);
  } else {
    start(group->ahead, waiting);
  }
}

void CommitPipeline::run_main(CommitGroup& group, Waiting waiting) {
  // First what nobody waits for: when the other is over, the group may be gone.
  if (!group.behind.batch.requests.empty()) start(group.behind, Waiting::kCallback);
  start(group.main, waiting);
}

void CommitPipeline::start(Round& round, Waiting waiting) {
  io::IoQueue& queue = round.batch.requests.front().device->queue();
  counters_.add(CounterId::kCommitRounds);
  if (waiting == Waiting::kBlocking) {
    if (!run_unless_recalled(round.batch, queue)) {
      const bool left = substitute([this, &round, &queue] {
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
bool CommitPipeline::run_unless_recalled(io::IoBatch& batch, io::IoQueue& queue) {
  if (io::Recall::here() == nullptr) {
    queue.run(batch);
    return true;
  }
  return queue.run_briefly(batch, kAnyTime);
}

bool CommitPipeline::wait_unless_recalled(io::IoBatch& batch, io::IoQueue& queue) {
  if (io::Recall::here() != nullptr) return queue.wait_briefly(batch, kAnyTime);
  queue.wait(batch);
  return true;
}

// Whether a thread of its own does the rest of what this one has waited for (C15).
bool CommitPipeline::substitute(io::Task rest) {
  std::list<Substitute> over;
  std::list<Substitute> added(1);
  {
    const io::Lock lock(mutex_);
    ++completing_;  // what it does may be done before it is known, and wait_idle() has to know it
    for (auto at = substitutes_.begin(); at != substitutes_.end();) {
      const auto one = at++;
      if (one->over) over.splice(over.end(), substitutes_, one);
    }
  }
  for (const Substitute& one : over) one.thread->join();
  Result<std::unique_ptr<io::Thread>> thread = executor_.try_start(
      "hexad-substitute", [this, rest = std::move(rest), self = &added.front()] {
        rest();
        const io::Lock lock(mutex_);
        self->over = true;
      });
  const bool started = thread.ok();
  const io::Lock lock(mutex_);
  if (started) {
    added.front().thread = std::move(thread).value();
    substitutes_.splice(substitutes_.end(), added);
  }
  --completing_;
  changed_.notify_all();
  return started;
}

// The writes of the round have completed. What is in volatile caches needs a flush that begins now
// or later. A write that failed needs none: its device is not going to count.
void CommitPipeline::written(Round& round, Waiting waiting) {
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
    complete(round, waiting);
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
  if (settled) complete(round, waiting);
  if (waiting == Waiting::kBlocking && !needs.empty()) {
    flush_here(std::move(needs));
    return;
  }
  for (const FlushNeed& need : needs) send_flush(need);
  complete_less();
}

// This thread leaves written().
void CommitPipeline::complete_less() {
  const io::Lock lock(mutex_);
  --completing_;
  changed_.notify_all();
}

// The leader flushes on its own thread what nobody else is flushing.
void CommitPipeline::flush_here(std::vector<FlushNeed> needs) {
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
void CommitPipeline::end_flushes(OwnFlushes own) {
  const io::NoUnwinding none("the flushes of commits");
  while (own.next < own.needs.size()) {
    io::IoQueue& queue = own.needs[own.next].through->queue();
    io::IoBatch& batch = own.batches[own.next];
    if (!(own.submitted ? wait_unless_recalled(batch, queue) : run_unless_recalled(batch, queue))) {
      own.submitted = true;
      const auto rest = std::make_shared<OwnFlushes>(std::move(own));
      if (substitute([this, rest] { end_flushes(std::move(*rest)); })) return;
      own = std::move(*rest);
      queue.wait(own.batches[own.next]);
    }
    flushed(own.needs[own.next].domain, own.batches[own.next].first_error());
    ++own.next;
  }
  complete_less();
}

// The end of the flush finds its way to flushed() by itself.
void CommitPipeline::send_flush(const FlushNeed& need) {
  counters_.add(CounterId::kCommitFlushes);
  const auto batch = std::make_shared<io::IoBatch>();
  batch->requests.push_back(io::IoRequest::flush(*need.through));
  batch->done = [this, batch, domain = need.domain](io::IoBatch&) {
    flushed(domain, batch->first_error());
  };
  need.through->queue().submit(*batch);
}

void CommitPipeline::flushed(FlushDomain domain, const Status& status) {
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
    complete(static_cast<Round&>(*waiter), Waiting::kCallback);
  }
  const io::Lock lock(mutex_);
  --completing_;
  changed_.notify_all();
}

void CommitPipeline::complete(Round& round, Waiting waiting) {
  const io::NoUnwinding none("the requests of commits");
  CommitGroup& group = *round.group;
  const bool ahead = &round == &group.ahead;
  bool ask_repair = false;
  {
    const io::Lock lock(mutex_);
    round.over = true;
    if (&round == &group.main) group.over_at = executor_.clock().now();
    bool failed = round.flush_failed;
    for (const io::IoRequest& request : round.batch.requests) {
      if (!request.status.ok()) failed = true;
    }
    if (failed && !repair_pending_ && !stopped_.has_value()) {
      // R12, R13: nothing more is sealed or acknowledged until the membership has changed.
      ++pauses_;
      repair_pending_ = true;
      ask_repair = true;
    }
    ++completing_;
    advance();
    changed_.notify_all();
  }
  if (ask_repair) repair_();
  if (ahead) {
    // Whatever has become of the cells: the log has to have all blocks when the membership changes.
    run_main(group, waiting);
  } else {
    if (progress_) progress_();
    pump();
  }
  const io::Lock lock(mutex_);
  --completing_;
  changed_.notify_all();
}

void CommitPipeline::answer(CommitGroup& group,
                            std::vector<std::pair<CommitCallback, Lsn>>& callbacks) {
  for (Submission& member : group.members) {
    member.budget.reset();
    if (member.done) callbacks.emplace_back(std::move(member.done), member.lsn);
    counters_.add(CounterId::kTransactions);
  }
  group.answered = true;
  // C14. No more than there were lately: whoever stays away is forgotten.
  expected_ = std::min(expected_, callers_under_way()) + group.callers;
  group.answered_at = executor_.clock().now();
  note_times(group);
  answered_ = std::max(answered_, group.last_lsn());
  raise_visible(answered_);
}

// Answers and publishes what is durable, in order.
void CommitPipeline::advance() {
  std::vector<std::pair<CommitCallback, Lsn>> callbacks;
  std::vector<std::function<void(Status)>> waiters;
  const bool going = pauses_ == 0 && !stopped_.has_value();
  for (const auto& group : in_flight_) {
    if (!going || !group->main.over) break;
    if (!group->answered) answer(*group, callbacks);
  }
  while (going && !in_flight_.empty() && in_flight_.front()->io_done()) {
    const std::unique_ptr<CommitGroup> group = std::move(in_flight_.front());
    in_flight_.pop_front();
    for (Submission& member : group->members) {
      space_.publish(member.lsn, member.record);
      for (const StripeWrite& stripe : member.stripes) in_flight_cells_.remove(stripe.where);
    }
    unproven_ -= group->unproven;
    durable_ = std::max(durable_, group->last_lsn());
    recorded_ = std::max(recorded_, group->block.block.header.watermark);  // C3
  }
  sleepers_.wake_reached(answered_, durable_);
  while (!waiters_.empty() && waiters_.begin()->first <= answered_) {
    waiters.push_back(std::move(waiters_.begin()->second));
    waiters_.erase(waiters_.begin());
  }
  if (callbacks.empty() && waiters.empty()) return;
  ++posted_;
  const io::Nanos posted = executor_.clock().now();
  executor_.post([this, posted, callbacks = std::move(callbacks), waiters = std::move(waiters)] {
    if (!callbacks.empty()) {
      const auto count = static_cast<io::Nanos>(callbacks.size());
      counters_.add_latency(CounterId::kStateKvDoneLatCount, callbacks.size(),
                            count * (executor_.clock().now() - posted));
    }
    for (const auto& [done, lsn] : callbacks) done(lsn);
    for (const auto& waiter : waiters) waiter(ok_status());
    task_over();
  });
}

}  // namespace hexad::core
