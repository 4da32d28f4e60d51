// Waits for devices that may not answer, and how long they last. doc/invariants.md#waits
#include <algorithm>
#include <utility>

#include "core/engine/attempt.h"
#include "core/engine/engine.h"
#include "core/membership/hanging_devices.h"
#include "io/bounded_reads.h"

namespace hexad::core {

namespace {

constexpr io::Nanos kNap = 10'000'000;
constexpr io::Nanos kLongNap = 100'000'000;
constexpr io::Nanos kSlow =
    200'000'000;  // a device that has not answered for so long may be silent
constexpr io::Nanos kSecond = 1'000'000'000;
constexpr io::Nanos kSoon =
    50'000'000;  // a device that has not answered for so long may take longer
constexpr io::Nanos kLook = 1'000'000;

}  // namespace

const Member* Engine::silent_member(io::Nanos limit, io::Nanos waited) const {
  const Member* longest = nullptr;
  for (std::size_t i = 0; i < parts_.members->size(); ++i) {
    const Member& member = parts_.members->at(i);
    if (parts_.members->is_removed(i)) continue;
    if (member.device == nullptr || member.device->is_given_up()) continue;
    const io::Nanos silence =
        std::max(member.device->silent_for(), std::min(waited, member.device->owing_for()));
    if (silence < limit) continue;
    limit = silence;
    longest = &member;
  }
  return longest;
}

bool Engine::waits_for_devices() const { return silent_member(kSoon, kSoon) != nullptr; }

// Suspects first: whoever changes the membership for what fails now leaves them all behind.
bool Engine::leave_hanging_devices() {
  const Members& members = *parts_.members;
  const io::Nanos patience = static_cast<io::Nanos>(parts_.options.device_patience) * kSecond;
  const std::set<DeviceId> leaving = plan_leaving(
      hanging_devices(members, membership_->adding()), patience,
      [&](const std::set<DeviceId>& also) { return parts_.space->lost_cells(also); },
      parts_.shape->m());
  parts_.space->suspect(leaving);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members.at(i);
    if (member.device == nullptr) continue;
    // Again for what was on its way when it was given up.
    const bool again = member.device->is_given_up() &&
                       member.device->traffic().under_way.load(std::memory_order_relaxed) > 0;
    // What it has on it is being wiped; its number may be another one's.
    const bool leaves = members.is_removed(i) ? member.device->owing_for() >= patience
                                              : leaving.contains(member.id);
    if (again || leaves) member.device->queue().give_up(*member.device);
  }
  {
    const io::Lock lock(new_mutex_);
    if (new_device_ != nullptr && new_device_->owing_for() >= patience) {
      new_device_->queue().give_up(*new_device_);
    }
  }
  if (!leaving.empty()) lose_suspects_soon();
  return !leaving.empty();
}

Status Engine::check_silence(const std::string& what, io::Nanos began) const {
  const Member* const member =
      silent_member(kSilence, parts_.system->executor().clock().now() - began);
  if (member == nullptr) return {};
  return Error{ErrorCode::kUnavailable,
               what + ", and device " + std::to_string(member->id) + " (" + member->path + ") " +
                   io::describe_silence(*member->device),
               "Try again when it answers."};
}

// Of data devices, where m = 0: nothing but their answers ends a wait for them (HG2).
Status Engine::check_answers(io::Nanos limit) const {
  if (shape().m() > 0) return {};
  const Members& members = *parts_.members;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members.at(i);
    if (!members.is_usable(i) || member.role != alloc::DeviceRole::kData) continue;
    if (member.device->is_given_up()) continue;  // the store turns read-only
    if (std::max(member.device->silent_for(), member.device->owing_for()) < limit) continue;
    return Error{ErrorCode::kUnavailable,
                 describe_device(member.id) + " " + io::describe_silence(*member.device) +
                     ", and without parity nothing goes on without it; no device has been changed",
                 "Try again when it answers."};
  }
  return {};
}

// A mutex that could be waited for with a limit would cost all others more. Naps are for the case
// that some device is slow: otherwise they would let everybody else go first. The
// thread safety analysis knows no lock that is taken where a Status is OK.
template <typename M>
Status Engine::lock_unless_silent(M& mutex,
                                  const std::string& what) HEXAD_NO_THREAD_SAFETY_ANALYSIS {
  const io::Nanos began = executor().clock().now();
  while (!mutex.try_lock()) {
    if (silent_member(kSlow, kSlow) == nullptr) {
      mutex.lock();
      return {};
    }
    HEXAD_TRY(check_silence(what, began));
    executor().sleep_for(kNap);
  }
  return {};
}

template Status Engine::lock_unless_silent(io::Mutex& mutex, const std::string& what);
template Status Engine::lock_unless_silent(Sequencer& mutex, const std::string& what);

// Each of those reads is short, or narrows its pin; but one may wait for a device that is silent,
// or count all that there is. New ones pin newer states, and are in nobody's way: what was freed is
// recorded by now.
bool Engine::outlast_reads(const Attempt& attempt) {
  const Lsn recorded = lane_->recorded();
  const io::Nanos began = executor().clock().now();
  for (;;) {
    const Lsn looked_at = reclaim();
    const bool more = parts_.space->counters().free > attempt.free_units;
    const io::Nanos waited = executor().clock().now() - began;
    if (more || looked_at >= recorded || waited >= *attempt.patience) {
      *attempt.patience -= std::min(waited, *attempt.patience);
      return more;
    }
    executor().sleep_for(kLook);
  }
}

bool Engine::outlast_moves(const Attempt& attempt) {
  const io::Nanos began = executor().clock().now();
  while (parts_.space->slabs_in_a_moment() && !closing_.is_closed()) {
    if (executor().clock().now() - began > io::kSilence + kSecond) break;
    executor().sleep_for(kNap);
    if (!release_left().ok()) break;
    if (parts_.space->slabs_left()) return true;
    if (parts_.space->counters().free > attempt.free_units) return true;
  }
  return false;
}

Status Engine::wait_unless_silent(Lsn lsn, const std::string& what) {
  if (lane_ == nullptr) return {};
  const io::Nanos began = executor().clock().now();
  while (!lane_->wait_durable_for(lsn, kSecond)) HEXAD_TRY(check_silence(what, began));
  return {};
}

Finding Engine::silence_finding(DeviceId device, std::uint64_t cells) const {
  const Member* const member = parts_.members->find(device);
  HEXAD_ASSERT(member != nullptr && member->device != nullptr);
  Finding finding;
  finding.subject = "device " + std::to_string(device) + " (" + member->path + ")";
  finding.problem =
      cells == 0
          ? std::string("it did not answer, so its label and roots were not looked at")
          : "it did not answer, so " + std::to_string(cells) + " cells on it were not looked at";
  if (io::is_silent(*member->device)) {
    finding.problem += "; it " + io::describe_silence(*member->device);
  }
  return finding;
}

// The work is a job's, so that the thread that closes can leave it.
Status Engine::close() {
  if (lane_ != nullptr) await_damage_written();
  // In this order: a socket that is being made meanwhile is there by now, or refused.
  const Closing::Caller caller = closing_.close();
  if (const auto server = control(); server != nullptr) server->stop();
  if (lane_ == nullptr) return {};
  const auto start = [this] {
    jobs_->wind_down();  // nothing is made ahead for a store that is closed
    close_job_->want();
    jobs_->wake(*close_job_);
  };
  const auto silent = [this, began = executor().clock().now()]() -> std::optional<Error> {
    const Member* const member = silent_member(io::kReadPatience, executor().clock().now() - began);
    if (member == nullptr) return std::nullopt;
    return Error{
        ErrorCode::kUnavailable,
        "the store is not closed yet: device " + std::to_string(member->id) + " (" + member->path +
            ") " + io::describe_silence(*member->device) +
            "; until it answers or is given up (device_patience), or the process ends, the "
            "devices stay locked. What was "
            "acknowledged is there at the next opening",
        "Close the store again when the device answers, or end the process."};
  };
  return closing_.wait(caller, start, silent);
}

void Engine::finish_closing() {
  errands_.wait();
  keep_device_records();
  Status closed = lane_->stopped().has_value() ? lost_buffered()
                                               : checkpointer_->run(Checkpointer::Close::kClean);
  mergers_->stop();
  closing_.finish(std::move(closed));
}

bool Engine::may_end() {
  if (const auto server = control(); server != nullptr) server->stop();
  if (lane_ == nullptr) return true;  // reads alone, whose memory is the queue's
  if (!outlast_look() || !outlast_openings()) return false;
  for (;;) {
    if (silent_member(io::kReadPatience) != nullptr) return false;
    if (silent_member(kSilence) == nullptr) break;
    executor().sleep_for(kLongNap);
  }
  return closing_.may_end();
}

}  // namespace hexad::core
