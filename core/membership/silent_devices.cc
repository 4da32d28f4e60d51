#include "core/membership/silent_devices.h"

#include <algorithm>
#include <utility>

#include "core/commit/sequencer.h"
#include "core/membership/hanging_devices.h"
#include "io/bounded_reads.h"

namespace hexad::core {

namespace {

constexpr io::Nanos kNap = 10'000'000;
constexpr io::Nanos kSlow =
    200'000'000;  // a device that has not answered for so long may be silent
constexpr io::Nanos kSecond = 1'000'000'000;
constexpr io::Nanos kSoon =
    50'000'000;  // a device that has not answered for so long may take longer

}  // namespace

const Member* SilentDevices::find(io::Nanos limit, io::Nanos waited) const {
  const Member* longest = nullptr;
  for (std::size_t i = 0; i < parts_.members.size(); ++i) {
    const Member& member = parts_.members.at(i);
    if (parts_.members.is_removed(i)) continue;
    if (member.device == nullptr || member.device->is_given_up()) continue;
    const io::Nanos silence =
        std::max(member.device->silent_for(), std::min(waited, member.device->owing_for()));
    if (silence < limit) continue;
    limit = silence;
    longest = &member;
  }
  return longest;
}

bool SilentDevices::any_soon() const { return find(kSoon, kSoon) != nullptr; }

// Suspects first: whoever changes the membership for what fails now leaves them all behind.
bool SilentDevices::leave_hanging() {
  const Members& members = parts_.members;
  const io::Nanos patience = parts_.patience;
  const std::set<DeviceId> leaving = plan_leaving(
      hanging_devices(members, parts_.membership->adding()), patience,
      [&](const std::set<DeviceId>& also) { return parts_.space.lost_cells(also); },
      parts_.shape.m());
  parts_.space.suspect(leaving);
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
  if (!leaving.empty()) parts_.lose_suspects();
  return !leaving.empty();
}

Status SilentDevices::check(const std::string& what, io::Nanos began) const {
  const Member* const member = find(io::kSilence, parts_.executor.clock().now() - began);
  if (member == nullptr) return {};
  return Error{ErrorCode::kUnavailable,
               what + ", and device " + std::to_string(member->id) + " (" + member->path + ") " +
                   io::describe_silence(*member->device),
               "Try again when it answers."};
}

Status SilentDevices::check_answers(io::Nanos limit) const {
  if (parts_.shape.m() > 0) return {};
  const Members& members = parts_.members;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members.at(i);
    if (!members.is_usable(i) || member.role != alloc::DeviceRole::kData) continue;
    if (member.device->is_given_up()) continue;  // the store turns read-only
    if (std::max(member.device->silent_for(), member.device->owing_for()) < limit) continue;
    return Error{ErrorCode::kUnavailable,
                 "device " + std::to_string(member.id) +
                     (member.path.empty() ? "" : " (" + member.path + ")") + " " +
                     io::describe_silence(*member.device) +
                     ", and without parity nothing goes on without it; no device has been changed",
                 "Try again when it answers."};
  }
  return {};
}

// A mutex that could be waited for with a limit would cost all others more. Naps are for the case
// that some device is slow: otherwise they would let everybody else go first.
template <typename M>
Status SilentDevices::lock_unless_silent(M& mutex, const std::string& what) const {
  const io::Nanos began = parts_.executor.clock().now();
  while (!mutex.try_lock()) {
    if (find(kSlow, kSlow) == nullptr) {
      mutex.lock();
      return {};
    }
    HEXAD_TRY(check(what, began));
    parts_.executor.sleep_for(kNap);
  }
  return {};
}

template Status SilentDevices::lock_unless_silent(io::Mutex& mutex, const std::string& what) const;
template Status SilentDevices::lock_unless_silent(Sequencer& mutex, const std::string& what) const;

Status SilentDevices::wait_until_durable(Lsn lsn, const std::string& what) const {
  if (parts_.pipeline == nullptr) return {};
  const io::Nanos began = parts_.executor.clock().now();
  while (!parts_.pipeline->wait_durable_for(lsn, kSecond)) HEXAD_TRY(check(what, began));
  return {};
}

Finding SilentDevices::finding(DeviceId device, std::uint64_t cells) const {
  const Member* const member = parts_.members.find(device);
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

void SilentDevices::watch_new(io::Device* device) {
  const io::Lock lock(new_mutex_);
  new_device_ = device;
}

std::string SilentDevices::describe_silent_new() const {
  const io::Lock lock(new_mutex_);
  if (new_device_ == nullptr || new_device_->owing_for() < io::kSilence) return {};
  return new_device_->name() + ", which is being added, " + io::describe_silence(*new_device_);
}

}  // namespace hexad::core
