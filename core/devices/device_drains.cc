#include "core/devices/device_drains.h"

#include <mutex>
#include <optional>
#include <utility>

#include "alloc/root_choice.h"
#include "core/devices/device_facts.h"

namespace hexad::core {

namespace {

constexpr io::Nanos kSecond = 1'000'000'000;

}  // namespace

DeviceDrains::DeviceDrains(const DeviceParts& parts, DeviceTurn& turn, SlabMoves& moves)
    : parts_(parts),
      turn_(turn),
      moves_(moves),
      room_(parts.shape, parts.members, parts.space),
      job_(parts.executor(),
           parts.memory_only ? 0 : static_cast<io::Nanos>(parts.options.drain_lost_after) * kSecond,
           DrainJob::Work{[this] { return lost_devices(); },
                          [this](DeviceId id) { return drain_lost(id); },
                          [this](DeviceId id) { return end_of_returned(id); }}) {}

// AD4
Status DeviceDrains::drain(DeviceId id) {
  HEXAD_TRY(parts_.writable());
  HEXAD_TRY(turn_.take());
  const io::Lock one(turn_.mutex(), std::adopt_lock);
  HEXAD_TRY(check_has(parts_.members, id));
  if (parts_.members.find(id)->role != alloc::DeviceRole::kData) {
    return Error{ErrorCode::kInvalidArgument,
                 describe_device(parts_.members, id) + " is no data device", ""};
  }
  job_.note_asked_to_drain(id);
  if (parts_.members.is_draining(id)) return {};
  HEXAD_TRY(room_.may_drain(id));
  return drain_locked(id);
}

Status DeviceDrains::drain_locked(DeviceId id) {
  {
    const io::Lock no_zones(parts_.zone_mutex);  // AD4: none that is being made has a slab there
    HEXAD_TRY(parts_.still_open());
    // A plain root, as in undrain_locked(): nothing on any device changes by it.
    HEXAD_TRY(parts_.membership.write_checkpoint(
        [&](alloc::Root& next) { alloc::begin_draining(next, id); },
        [&] { parts_.members.begin_draining(id); }));
  }
  moves_.want();
  return {};
}

Status DeviceDrains::undrain(DeviceId id) {
  HEXAD_TRY(parts_.writable());
  HEXAD_TRY(turn_.take());
  const io::Lock one(turn_.mutex(), std::adopt_lock);
  HEXAD_TRY(check_has(parts_.members, id));
  job_.note_asked_to_end(id);
  return parts_.members.is_draining(id) ? undrain_locked(id) : Status();
}

Status DeviceDrains::undrain_locked(DeviceId id) {
  HEXAD_TRY(parts_.still_open());
  HEXAD_TRY(
      parts_.membership.write_checkpoint([&](alloc::Root& next) { alloc::end_draining(next, id); },
                                         [&] { parts_.members.end_draining(id); }));
  parts_.space.learn_devices();
  moves_.want();
  return {};
}

std::vector<DeviceId> DeviceDrains::lost_devices() const {
  std::vector<DeviceId> lost;
  if (!parts_.writable().ok()) return lost;
  const Members& members = parts_.members;
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
Result<DrainJob::Attempt> DeviceDrains::drain_lost(DeviceId id) {
  using Became = DrainJob::Outcome;
  HEXAD_TRY(parts_.writable());
  if (!turn_.mutex().try_lock()) return DrainJob::Attempt{Became::kLater};
  const io::Lock one(turn_.mutex(), std::adopt_lock);
  const Members& members = parts_.members;
  if (!members.has(id) || members.usable(id) || members.is_draining(id)) {
    return DrainJob::Attempt{Became::kLater};
  }
  if (const Status may = room_.may_drain(id); !may.ok()) {
    return DrainJob::Attempt{Became::kRefused, may.error().message};
  }
  HEXAD_TRY(drain_locked(id));
  job_.note_drained(id);
  return DrainJob::Attempt{Became::kDrained};
}

Result<bool> DeviceDrains::end_of_returned(DeviceId id) {
  HEXAD_TRY(parts_.writable());
  if (!turn_.mutex().try_lock()) return false;
  const io::Lock one(turn_.mutex(), std::adopt_lock);
  const Members& members = parts_.members;
  // Somebody has asked for it meanwhile (DT2), or ended it.
  if (!members.has(id) || !members.is_draining(id) || !job_.has_drained(id)) return true;
  if (!members.usable(id)) return false;
  HEXAD_TRY(undrain_locked(id));
  return true;
}

void DeviceDrains::show(DeviceId id, DeviceStatus& device, StoreStatus& status) {
  if (parts_.options.drain_lost_after == 0 || !parts_.writable().ok()) return;
  const auto add = [&device](const std::string& text) {
    device.detail += (device.detail.empty() ? "" : "; ") + text;
  };
  const std::string after = std::to_string(parts_.options.drain_lost_after);
  if (device.draining && job_.has_drained(id)) {
    add("it has been away for " + after +
        " s (drain_lost_after), so what it held is built again on the others");
    return;
  }
  const std::optional<DrainJob::Standing> standing = job_.standing(id);
  if (!standing.has_value() || device.draining) return;
  if (standing->refused.empty()) {
    add("in " + std::to_string(standing->left / kSecond) +
        " s what it held is built again on the others");
    return;
  }
  status.warnings.push_back(describe_device(parts_.members, id) + " has been away for more than " +
                            after +
                            " s (drain_lost_after), and what it held cannot be built again on the "
                            "others: " +
                            standing->refused);
}

}  // namespace hexad::core
