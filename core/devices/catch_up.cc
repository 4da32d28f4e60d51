// Devices that had left and are attached again: taken in when the store is opened, before anything
// else is done with it.
#include <string>
#include <utility>

#include "core/engine/engine.h"
#include "core/opening/room_below.h"

namespace hexad::core {

Status Engine::prepare_return(DeviceId id) {
  HEXAD_TRY(reserve_room_below(*parts_.members, *parts_.space, id, shape().unit));
  return parts_.space->complete_headers(id);
}

// Marks are in zone images, and these in a run, which has to hold an LSN.
Status Engine::finish_return() {
  return checkpointer_->finish_return(
      [this] { return commit_internal([](LogRecord&) { return Status(); }).status(); });
}

// What fails here is the affair of the device: the store is as it was, and says why it is. What
// stops the lane is not.
Status Engine::take_in_returned() {
  std::set<DeviceId> back;
  for (const DeviceId id : parts_.members->returning()) {
    if (is_emptied(id) && !parts_.members->find(id)->replaced) {
      parts_.members->keep_out(
          id, "away", "it has been drained: hexad device remove POOL " + std::to_string(id));
      continue;
    }
    if (const Status ready = prepare_return(id); ready.ok()) {
      back.insert(id);
    } else {
      note_not_taken_in(id, ready.error());
    }
  }
  if (back.empty()) return {};
  HEXAD_TRY(checkpointer_->begin_return(back));
  const Status taken = finish_return();
  if (const std::optional<Error> stopped = lane_->stopped()) return *stopped;
  for (const DeviceId id : back) {
    if (parts_.members->usable(id)) {
      parts_.notes.push_back(describe_device(id) + " has come back and is used again" +
                             (parts_.members->is_behind(id)
                                  ? "; what was written without it is still missing there"
                                  : ""));
    } else if (!taken.ok()) {
      note_not_taken_in(id, taken.error());
    }
  }
  return {};
}

void Engine::start_catch_up() {
  const bool wanted = parts_.options.catch_up == CatchUp::kInBackground;
  if (!wanted || parts_.members->behind().empty()) return;
  catch_up_job_->start();
  jobs_->wake(*catch_up_job_);
}

std::uint64_t Engine::missing_bytes() {
  std::uint64_t units = 0;
  for (const DeviceId id : parts_.members->behind()) units += space().lacking_units(id);
  return units * shape().unit;
}

// BK6. What is still noted where nothing is read from any more goes with the checkpoint, or with
// what the deletion job does.
Status Engine::settle_whole() {
  HEXAD_TRY(commit_internal([](LogRecord&) { return Status(); }).status());
  HEXAD_TRY(run_checkpoint());
  // It stood back while a device was behind (CL6), and nobody need commit anything for it to go on.
  cleaner_->look_again();
  const bool asked = cleaner_->wants_look() && clean_job_->want();
  const bool at_rest = cleaner_->wants_rest() && clean_job_->want_rest();
  if (asked || at_rest) jobs_->wake(*clean_job_);
  return {};
}

std::uint64_t Engine::device_uses() const {
  const Counters& counters = *parts_.counters;
  std::uint64_t uses = counters.since_open(CounterId::kTransactions) +
                       counters.since_open(CounterId::kReads) -
                       counters.since_open(CounterId::kCacheReads);
  for (const DeviceId id : parts_.members->usable_ids()) {
    const io::Device* const device = parts_.members->find(id)->device.get();
    if (device == nullptr) continue;  // it has left meanwhile
    uses += device->traffic().writes_for[static_cast<std::size_t>(io::IoCause::kUser)].load(
        std::memory_order_relaxed);
  }
  return uses;
}

Result<CatchUpReport> Engine::catch_up(const CatchUpOptions& options) {
  HEXAD_TRY(writable());
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
    if (parts_.members->behind().empty()) break;
    HEXAD_TRY_ASSIGN(ScrubReport filled, fill_cells(scrub));
    report.findings = std::move(filled.findings);
    if (stopped) break;
    HEXAD_TRY(settle_whole());
  }
  report.bytes_missing = missing_bytes();
  return report;
}

// A checkpoint has to have an LSN above the last one's to write them. Where that fails they are as
// the last checkpoint left them.
void Engine::keep_device_records() {
  if (lane_->stopped().has_value() || !history_->has_changed()) return;
  commit_internal([](LogRecord&) { return Status(); }, {}, LogRoom::kPacking).status().ignore();
}

Status Engine::clear_device_errors(const std::vector<DeviceId>& devices) {
  HEXAD_TRY(writable());
  for (const DeviceId id : devices) HEXAD_TRY(check_has(id));
  history_->clear_errors({devices.begin(), devices.end()});
  return history_->has_changed() ? settle_whole() : Status();
}

std::string Engine::describe_device(DeviceId id) const {
  const Member& member = *parts_.members->find(id);
  return "device " + std::to_string(id) + (member.path.empty() ? "" : " (" + member.path + ")");
}

void Engine::note_not_taken_in(DeviceId id, const Error& why) {
  parts_.warnings.push_back(describe_device(id) +
                            " is attached again and was not taken in: " + why.message);
}

}  // namespace hexad::core
