#include "core/devices/catch_ups.h"

#include <utility>

namespace hexad::core {

CatchUps::CatchUps(const DeviceParts& parts, Hooks hooks)
    : parts_(parts),
      hooks_(std::move(hooks)),
      job_(parts.executor().clock(),
           CatchUpJob::Work{[this] { return !parts_.members.behind().empty(); },
                            [this](const ScrubOptions& piece) { return hooks_.fill_cells(piece); },
                            [this] {
                              Status settled = settle_whole();
                              hooks_.want_moves();  // what lacks nothing any more takes slabs
                              return settled;
                            },
                            [this] { return missing_bytes(); }, [this] { return device_uses(); }}) {
}

void CatchUps::start() {
  const bool wanted = parts_.options.catch_up == CatchUp::kInBackground;
  if (!wanted || parts_.members.behind().empty()) return;
  job_.start();
  parts_.jobs.wake(job_);
}

std::uint64_t CatchUps::missing_bytes() const {
  std::uint64_t units = 0;
  for (const DeviceId id : parts_.members.behind()) units += parts_.space.lacking_units(id);
  return units * parts_.shape.unit;
}

// BK6. What is still noted where nothing is read from any more goes with the checkpoint, or with
// what the deletion job does.
Status CatchUps::settle_whole() {
  HEXAD_TRY(parts_.advance());
  HEXAD_TRY(parts_.checkpointer.run(Checkpointer::Close::kGoesOn));
  hooks_.clean_again();
  return {};
}

std::uint64_t CatchUps::device_uses() const {
  const Counters& counters = parts_.counters;
  std::uint64_t uses = counters.since_open(CounterId::kTransactions) +
                       counters.since_open(CounterId::kReads) -
                       counters.since_open(CounterId::kCacheReads);
  for (const DeviceId id : parts_.members.usable_ids()) {
    const io::Device* const device = parts_.members.find(id)->device.get();
    if (device == nullptr) continue;  // it has left meanwhile
    uses += device->traffic().writes_for[static_cast<std::size_t>(io::IoCause::kUser)].load(
        std::memory_order_relaxed);
  }
  return uses;
}

Result<CatchUpReport> CatchUps::run(const CatchUpOptions& options) {
  HEXAD_TRY(parts_.writable());
  CatchUpReport report;
  report.bytes_total = report.bytes_missing = missing_bytes();
  bool stopped = false;
  ScrubOptions scrub;
  scrub.rate = options.rate;
  scrub.progress = [&](const ScrubReport&) {
    report.bytes_missing = missing_bytes();
    stopped = options.progress && !options.progress(report);
    return !stopped;
  };
  // More than once: a piece of metadata may change its name, and what it lacks is passed by.
  constexpr int kMostPasses = 8;
  for (int pass = 0; pass < kMostPasses && !stopped; ++pass) {
    if (parts_.members.behind().empty()) break;
    HEXAD_TRY_ASSIGN(ScrubReport filled, hooks_.fill_cells(scrub));
    report.findings = std::move(filled.findings);
    if (stopped) break;
    HEXAD_TRY(settle_whole());
  }
  report.bytes_missing = missing_bytes();
  return report;
}

}  // namespace hexad::core
