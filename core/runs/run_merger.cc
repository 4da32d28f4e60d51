#include "core/runs/run_merger.h"

#include <algorithm>
#include <utility>

namespace hexad::core {

namespace {

constexpr io::Nanos kWorkAtOnce = 5'000'000;
constexpr io::Nanos kLongestRest = 100'000'000;

}  // namespace

RunMerger::RunMerger(io::Executor& executor, const RunCatalogue& runs, const BlobPreparer& preparer,
                     Words words, std::function<void(const Status&)> tell)
    : executor_(executor),
      runs_(runs),
      preparer_(preparer),
      words_(words),
      tell_(std::move(tell)),
      mutex_(executor),
      changed_(executor),
      pace_(executor.clock()) {}

RunMerger::~RunMerger() { RunMerger::stop(); }

bool RunMerger::busy() {
  const io::Lock lock(mutex_);
  return !merge_.idle();
}

bool RunMerger::finished() {
  const io::Lock lock(mutex_);
  return merge_.finished();
}

std::vector<std::uint64_t> RunMerger::inputs() {
  const io::Lock lock(mutex_);
  return merge_.inputs();
}

std::uint64_t RunMerger::units_to_come() {
  const io::Lock lock(mutex_);
  return merge_.units_to_come();
}

void RunMerger::start(RunMerge plan) {
  const io::Lock lock(mutex_);
  HEXAD_ASSERT(merge_.idle());
  if (stopping_) return;
  merge_.want(std::move(plan));
  hurry_ = false;
  changed_.notify_all();
}

void RunMerger::finish() {
  io::Lock lock(mutex_);
  hurry_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this]() HEXAD_REQUIRES(mutex_) { return !merge_.under_way(); });
}

void RunMerger::forget_failed() {
  const io::Lock lock(mutex_);
  failed_.clear();
}

bool RunMerger::install(RunDraft& draft) {
  io::Lock lock(mutex_);
  draft.failed.merge(failed_);
  failed_.clear();
  if (!merge_.finished()) return false;
  MergedRun merged = merge_.take();
  lock.unlock();
  if (runs_.install(draft, merged)) return true;
  runs_.drop(merged);  // somebody has merged them otherwise
  return false;
}

bool RunMerger::give_up() {
  const io::NoUnwinding none("a merge");
  io::Lock lock(mutex_);
  const bool any = !merge_.idle();
  // Asked at each change: somebody may start another one, and others may give up this one, too.
  const auto ended = [this]() HEXAD_REQUIRES(mutex_) {
    // One that no step has begun has cost nothing.
    if (merge_.wanted()) merge_.end();
    unwanted_ = merge_.running();
    return !unwanted_;
  };
  ended();
  changed_.notify_all();
  changed_.wait(lock, ended);
  // It may have ended before it heard of it.
  if (!merge_.finished()) return any;
  const MergedRun merged = merge_.take();
  lock.unlock();
  runs_.drop(merged);
  return true;
}

void RunMerger::stop() {
  {
    const io::Lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  give_up();
}

// Between two steps of a merge. An error ends it.
Status RunMerger::go_on() {
  io::Lock lock(mutex_);
  const Error unwanted{ErrorCode::kBusy, "the merge is not wanted any more", ""};
  if (unwanted_ || stopping_) return unwanted;
  if (hurry_ || pace_.worked() < kWorkAtOnce) return {};
  const io::Nanos until = pace_.rest_until(kLongestRest);
  while (!hurry_ && !unwanted_ && !stopping_) {
    const io::Nanos left = until - executor_.clock().now();
    if (left <= 0 || !changed_.wait_for(lock, left)) break;
  }
  pace_.begin();
  return unwanted_ || stopping_ ? Status(unwanted) : Status();
}

std::optional<io::Nanos> RunMerger::due() {
  const io::Lock lock(mutex_);
  return merge_.wanted() ? std::optional<io::Nanos>(0) : std::nullopt;
}

Result<bool> RunMerger::step() {
  io::Lock lock(mutex_);
  if (!merge_.wanted()) return false;
  const RunMerge plan = merge_.begin();
  pace_.begin();
  lock.unlock();
  std::set<DeviceId> failed;
  Result<MergedRun> merged = runs_.merge(plan, preparer_, failed, [this] { return go_on(); });
  lock.lock();
  failed_.merge(failed);
  const bool unwanted = std::exchange(unwanted_, false) || stopping_;
  const Status outcome = merged.status();
  if (merged.ok() && !unwanted) {
    merge_.finish(std::move(merged).value());
  } else {
    if (merged.ok()) {
      lock.unlock();
      runs_.drop(*merged);
      lock.lock();
    }
    merge_.end();
  }
  changed_.notify_all();
  if (unwanted) return false;
  lock.unlock();
  tell_(outcome);
  HEXAD_TRY(outcome);
  return true;
}

}  // namespace hexad::core
