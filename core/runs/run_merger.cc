#include "core/runs/run_merger.h"

#include <algorithm>
#include <utility>

namespace hexad::core {

namespace {

constexpr io::Nanos kWorkAtOnce = 5'000'000;
constexpr io::Nanos kLongestRest = 100'000'000;

}  // namespace

RunMerger::RunMerger(io::Executor& executor, const RunCatalogue& runs, const BlobPreparer& preparer,
                     std::function<void(const Status&)> tell)
    : executor_(executor),
      runs_(runs),
      preparer_(preparer),
      tell_(std::move(tell)),
      mutex_(executor),
      changed_(executor) {}

RunMerger::~RunMerger() { stop(); }

bool RunMerger::busy() {
  const io::Lock lock(mutex_);
  return state_ != State::kIdle;
}

bool RunMerger::finished() {
  const io::Lock lock(mutex_);
  return state_ == State::kFinished;
}

Status RunMerger::begin() {
  HEXAD_ASSERT(thread_ == nullptr);
  HEXAD_TRY_ASSIGN(thread_, executor_.try_start("hexad-merge", [this] { thread(); }));
  return {};
}

void RunMerger::start(RunMerge plan) {
  const io::Lock lock(mutex_);
  HEXAD_ASSERT(state_ == State::kIdle);
  if (stopping_) return;
  HEXAD_ASSERT(thread_ != nullptr);
  plan_ = std::move(plan);
  state_ = State::kWanted;
  hurry_ = false;
  changed_.notify_all();
}

void RunMerger::finish() {
  io::Lock lock(mutex_);
  hurry_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !under_way(); });
}

bool RunMerger::install(RunDraft& draft) {
  io::Lock lock(mutex_);
  draft.failed.merge(failed_);
  failed_.clear();
  if (state_ != State::kFinished) return false;
  MergedRun merged = std::move(*merged_);
  merged_.reset();
  state_ = State::kIdle;
  lock.unlock();
  if (runs_.install(draft, merged)) return true;
  runs_.drop(merged);  // somebody has merged them otherwise
  return false;
}

bool RunMerger::give_up() {
  const io::NoUnwinding none("a merge");
  io::Lock lock(mutex_);
  const bool any = state_ != State::kIdle;
  unwanted_ = under_way();
  changed_.notify_all();
  changed_.wait(lock, [this] { return !under_way(); });
  // It may have ended before it heard of it; or somebody has started another one.
  if (state_ != State::kFinished) return any;
  const MergedRun merged = std::move(*merged_);
  merged_.reset();
  state_ = State::kIdle;
  lock.unlock();
  runs_.drop(merged);
  return true;
}

void RunMerger::stop() {
  std::unique_ptr<io::Thread> thread;
  {
    const io::Lock lock(mutex_);
    stopping_ = true;
    unwanted_ = under_way();
    changed_.notify_all();
    thread = std::move(thread_);
  }
  if (thread != nullptr) thread->join();
  give_up();
}

// Between two steps of a merge. An error ends it.
Status RunMerger::pace() {
  io::Lock lock(mutex_);
  const Error unwanted{ErrorCode::kBusy, "the merge is not wanted any more", ""};
  if (unwanted_ || stopping_) return unwanted;
  const io::Nanos worked = executor_.clock().now() - working_since_;
  if (hurry_ || worked < kWorkAtOnce) return {};
  const io::Nanos until = executor_.clock().now() + std::min(worked, kLongestRest);
  while (!hurry_ && !unwanted_ && !stopping_) {
    const io::Nanos left = until - executor_.clock().now();
    if (left <= 0 || !changed_.wait_for(lock, left)) break;
  }
  working_since_ = executor_.clock().now();
  return unwanted_ || stopping_ ? Status(unwanted) : Status();
}

void RunMerger::thread() {
  io::Lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || state_ == State::kWanted; });
    if (state_ == State::kWanted && (stopping_ || unwanted_)) {
      state_ = State::kIdle;
      unwanted_ = false;
      changed_.notify_all();
    }
    if (stopping_) return;
    if (state_ != State::kWanted) continue;
    state_ = State::kRunning;
    const RunMerge plan = std::exchange(plan_, {});
    working_since_ = executor_.clock().now();
    lock.unlock();
    std::set<DeviceId> failed;
    Result<MergedRun> merged = runs_.merge(plan, preparer_, failed, [this] { return pace(); });
    lock.lock();
    failed_.merge(failed);
    const bool unwanted = std::exchange(unwanted_, false) || stopping_;
    const Status outcome = merged.status();
    if (merged.ok() && !unwanted) {
      merged_ = std::move(merged).value();
      state_ = State::kFinished;
    } else {
      if (merged.ok()) {
        lock.unlock();
        runs_.drop(*merged);
        lock.lock();
      }
      state_ = State::kIdle;
    }
    changed_.notify_all();
    if (unwanted) continue;
    lock.unlock();
    tell_(outcome);
    lock.lock();
  }
}

}  // namespace hexad::core
