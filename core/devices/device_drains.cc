// Devices that have been away for long are drained: DT1 to DT3 of core/jobs/drain_job.h.
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/engine.h"

namespace hexad::core {

namespace {

constexpr io::Nanos kSecond = 1'000'000'000;

}  // namespace

void Engine::make_drain_job() {
  const io::Nanos limit = static_cast<io::Nanos>(parts_.options.drain_lost_after) * kSecond;
  drain_job_ = std::make_unique<DrainJob>(
      executor(), parts_.memory_only ? 0 : limit,
      DrainJob::Work{[this] { return lost_devices(); },
                     [this](DeviceId id) { return drain_lost(id); },
                     [this](DeviceId id) { return end_drain_of_returned(id); }});
}

std::vector<DeviceId> Engine::lost_devices() const {
  std::vector<DeviceId> lost;
  if (!writable().ok()) return lost;
  const Members& members = *parts_.members;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members.at(i);
    if (members.is_removed(i) || members.is_usable(i)) continue;
    if (member.role != alloc::DeviceRole::kData || members.is_draining(member.id)) continue;
    lost.push_back(member.id);
  }
  return lost;
}

// DT3. Who holds the mutex may wait for a device for as long as a minute, and others wait for this
// thread: it does not wait.
Result<DrainJob::Attempt> Engine::drain_lost(DeviceId id) {
  using Became = DrainJob::Outcome;
  HEXAD_TRY(writable());
  if (!return_mutex_.try_lock()) return DrainJob::Attempt{Became::kLater};
  const io::Lock one(return_mutex_, std::adopt_lock);
  const Members& members = *parts_.members;
  if (!members.has(id) || members.usable(id) || members.is_draining(id)) {
    return DrainJob::Attempt{Became::kLater};
  }
  if (const Status may = may_drain(id); !may.ok()) {
    return DrainJob::Attempt{Became::kRefused, may.error().message};
  }
  HEXAD_TRY(drain_locked(id));
  drain_job_->note_drained(id);
  return DrainJob::Attempt{Became::kDrained};
}

Result<bool> Engine::end_drain_of_returned(DeviceId id) {
  HEXAD_TRY(writable());
  if (!return_mutex_.try_lock()) return false;
  const io::Lock one(return_mutex_, std::adopt_lock);
  const Members& members = *parts_.members;
  // Somebody has asked for it meanwhile (DT2), or ended it.
  if (!members.has(id) || !members.is_draining(id) || !drain_job_->has_drained(id)) return true;
  if (!members.usable(id)) return false;
  HEXAD_TRY(undrain_locked(id));
  return true;
}

void Engine::show_drain(DeviceId id, DeviceStatus& device, StoreStatus& status) {
  if (drain_job_ == nullptr || parts_.options.drain_lost_after == 0 || !writable().ok()) return;
  const auto add = [&device](const std::string& text) {
    device.detail += (device.detail.empty() ? "" : "; ") + text;
  };
  const std::string after = std::to_string(parts_.options.drain_lost_after);
  if (device.draining && drain_job_->has_drained(id)) {
    add("it has been away for " + after +
        " s (drain_lost_after), so what it held is built again on the others");
    return;
  }
  const std::optional<DrainJob::Standing> standing = drain_job_->standing(id);
  if (!standing.has_value() || device.draining) return;
  if (standing->refused.empty()) {
    add("in " + std::to_string(standing->left / kSecond) +
        " s what it held is built again on the others");
    return;
  }
  status.warnings.push_back(describe_device(id) + " has been away for more than " + after +
                            " s (drain_lost_after), and what it held cannot be built again on the "
                            "others: " +
                            standing->refused);
}

}  // namespace hexad::core
