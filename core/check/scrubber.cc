#include "core/check/scrubber.h"

#include <algorithm>
#include <utility>

#include "core/check/scrub_pass.h"
#include "core/check/scrub_position.h"

namespace hexad::core {

Scrubber::Scrubber(CheckParts parts, const InFlightCells& in_flight, KnownDamage& damage)
    : parts_(std::move(parts)), in_flight_(in_flight), damage_(damage) {}

Result<ScrubReport> Scrubber::scrub(const ScrubOptions& options) {
  done_.store(0, std::memory_order_relaxed);
  ScrubOptions watched = options;
  watched.progress = [&](const ScrubReport& report) {
    done_.store(report.bytes_checked, std::memory_order_relaxed);
    total_.store(report.bytes_expected, std::memory_order_relaxed);
    return !options.progress || options.progress(report);
  };
  struct Seen {
    explicit Seen(std::atomic<std::uint32_t>& scrubs) : count(scrubs) { ++count; }
    ~Seen() { --count; }
    std::atomic<std::uint32_t>& count;
  };
  const Seen seen(running_);
  return run(watched, ScrubScope::kAll);
}

Result<ScrubReport> Scrubber::scrub_apart(const ScrubOptions& options) {
  return run(options, ScrubScope::kAll);
}

Result<ScrubReport> Scrubber::fill_cells(const ScrubOptions& options) {
  return run(options, ScrubScope::kMissing);
}

Result<ScrubReport> Scrubber::run(const ScrubOptions& options, ScrubScope scope) {
  HEXAD_TRY_ASSIGN(ScrubPosition from, decode_position(options.from));
  ScrubRun run(parts_, options, scope);
  ScrubPass pass(run, in_flight_, damage_.list(), std::move(from));
  HEXAD_TRY(pass.run());
  if (scope == ScrubScope::kAll && pass.is_over()) {
    HEXAD_TRY(run.look_at_headers());
    damage_.find().status().ignore();  // what is right again leaves the list
  }
  return run.take_report(pass.at());
}

void Scrubber::show(StoreStatus& status) const {
  if (running_ == 0) return;
  JobStatus job;
  job.name = "scrub";
  job.purpose = "reading every cell";
  job.running = true;
  job.total = total_.load(std::memory_order_relaxed);
  job.done = std::min(job.total, done_.load(std::memory_order_relaxed));
  job.unit = "bytes";
  status.jobs.push_back(std::move(job));
}

}  // namespace hexad::core
