#include "core/control/asked_scrub.h"

#include <algorithm>
#include <utility>

#include "base/refused_memory.h"
#include "core/check/scrub_position.h"

namespace hexad::core {

namespace {

Error closing() {
  return Error{ErrorCode::kClosed, "the process is closing the store", "Ask again in a moment."};
}

Error is_running() {
  return Error{ErrorCode::kAlreadyExists, "a scrub is running already",
               "hexad scrub status POOL shows how far it is, hexad scrub stop POOL ends it."};
}

Error is_ending() { return Error{ErrorCode::kNotFound, "the scrub has been told to end", ""}; }

}  // namespace

AskedScrub::AskedScrub(io::Executor& executor, Work work)
    : executor_(executor), work_(std::move(work)), mutex_(executor), changed_(executor) {}

AskedScrub::~AskedScrub() {
  end();
  if (thread_ != nullptr) thread_->join();
}

Status AskedScrub::launch() {
  HEXAD_TRY_ASSIGN(thread_, executor_.try_start("hexad-scrub", [this] { work_all(); }));
  return {};
}

void AskedScrub::end() {
  const io::Lock lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

Result<ControlScrub> AskedScrub::start(std::uint64_t rate, const std::string& from) {
  HEXAD_TRY(decode_position(from).status());
  const io::Lock lock(mutex_);
  if (ended_) return closing();
  if (scrub_.running) return is_running();
  if (scrub_.paused) {
    return Error{ErrorCode::kAlreadyExists, "a scrub is paused",
                 "hexad scrub resume POOL goes on with it, hexad scrub stop POOL ends it."};
  }
  const std::uint64_t began = scrub_.began + 1;
  scrub_ = {};
  scrub_.running = true;
  scrub_.began = began;
  scrub_.report.next = from;
  rate_ = rate;
  wish_ = Wish::kGoOn;
  since_ = executor_.clock().now();
  wanted_ = true;
  changed_.notify_all();
  return scrub_;
}

Result<ControlScrub> AskedScrub::pause() {
  const io::Lock lock(mutex_);
  if (scrub_.paused) return scrub_;
  if (!scrub_.running) {
    return Error{ErrorCode::kNotFound, "no scrub is running that was asked for here",
                 "hexad scrub start POOL begins one."};
  }
  if (wish_ == Wish::kStop) return is_ending();
  wish_ = Wish::kPause;
  return scrub_;
}

Result<ControlScrub> AskedScrub::resume(std::uint64_t rate) {
  const io::Lock lock(mutex_);
  if (ended_) return closing();
  if (scrub_.running && wish_ == Wish::kStop) return is_ending();
  if (scrub_.running && wish_ == Wish::kGoOn) return is_running();
  if (!scrub_.running && !scrub_.paused) {
    return Error{ErrorCode::kNotFound, "no scrub is paused",
                 scrub_.report.next.empty() ? "hexad scrub start POOL begins one."
                                            : "hexad scrub start POOL --from " +
                                                  scrub_.report.next + " goes on with the last."};
  }
  if (rate > 0) rate_ = rate;
  wish_ = Wish::kGoOn;
  // Where the pass has not ended yet, the pause is taken back: see finish().
  if (!std::exchange(scrub_.paused, false)) return scrub_;
  scrub_.running = true;
  since_ = executor_.clock().now();
  wanted_ = true;
  changed_.notify_all();
  return scrub_;
}

Result<ControlScrub> AskedScrub::stop() {
  const io::Lock lock(mutex_);
  if (!scrub_.running && !scrub_.paused) {
    return Error{ErrorCode::kNotFound, "no scrub is running that was asked for here",
                 "hexad scrub start POOL begins one."};
  }
  scrub_.paused = false;
  wish_ = Wish::kStop;
  return scrub_;
}

ControlScrub AskedScrub::show() {
  const io::Lock lock(mutex_);
  return scrub_;
}

std::optional<JobStatus> AskedScrub::job() {
  const io::Lock lock(mutex_);
  if (scrub_.began == 0) return std::nullopt;
  JobStatus job;
  job.name = "scrub";
  job.purpose = "reading every cell";
  job.running = scrub_.running;
  if (scrub_.running) job.seconds = static_cast<double>(executor_.clock().now() - since_) / 1e9;
  if (scrub_.running || scrub_.paused) {
    job.done = std::min(scrub_.report.bytes_checked, scrub_.report.bytes_expected);
    job.total = scrub_.report.bytes_expected;
    job.unit = "bytes";
  }
  job.steps = scrub_.began;
  job.problem = scrub_.failure;
  return job;
}

void AskedScrub::work_all() {
  io::Lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this]() HEXAD_REQUIRES(mutex_) { return ended_ || wanted_; });
    if (ended_) return;
    wanted_ = false;
    before_ = scrub_;
    kept_before_ = scrub_.report.findings.size();
    ScrubOptions options;
    options.rate = rate_;
    options.from = scrub_.report.next;
    lock.unlock();
    const Result<ScrubReport> report = pass(options);
    lock.lock();
    finish(report);
  }
}

Result<ScrubReport> AskedScrub::pass(const ScrubOptions& options) {
  ScrubOptions watched = options;
  watched.progress = [this](const ScrubReport& report) {
    const io::Lock lock(mutex_);
    add(report);
    return !ended_ && wish_ == Wish::kGoOn;
  };
  return without_bad_alloc([&]() -> Result<ScrubReport> { return work_(watched); });
}

// Findings beyond the first ones are counted alone.
void AskedScrub::add(const ScrubReport& report) {
  ScrubReport& shown = scrub_.report;
  const ScrubReport& before = before_.report;
  shown.stripes_checked = before.stripes_checked + report.stripes_checked;
  shown.bytes_checked = before.bytes_checked + report.bytes_checked;
  shown.bytes_expected = report.bytes_expected;
  shown.bad_header_slots = report.bad_header_slots;
  shown.next = report.next;
  scrub_.errors = before_.errors + report.errors();
  scrub_.repaired = before_.repaired + (report.findings.size() - report.errors());
  const std::size_t taken = shown.findings.size() - kept_before_;
  const std::size_t count =
      std::max(taken, std::min(report.findings.size(), kMaxControlFindings - kept_before_));
  shown.findings.insert(shown.findings.end(),
                        report.findings.begin() + static_cast<std::ptrdiff_t>(taken),
                        report.findings.begin() + static_cast<std::ptrdiff_t>(count));
}

void AskedScrub::finish(const Result<ScrubReport>& report) {
  if (report.ok()) {
    add(*report);
  } else {
    scrub_.failure = report.error().to_string();
  }
  const bool unfinished = report.ok() && !scrub_.report.next.empty() && !ended_;
  scrub_.paused = unfinished && wish_ == Wish::kPause;
  // Somebody has paused it, and then thought better of it.
  scrub_.running = wanted_ = unfinished && wish_ == Wish::kGoOn;
}

}  // namespace hexad::core
