#include "core/devices/device_facts.h"

#include <optional>

namespace hexad::core {

std::string describe_device(const Members& members, DeviceId id) {
  const Member& member = *members.find(id);
  return "device " + std::to_string(id) + (member.path.empty() ? "" : " (" + member.path + ")");
}

Status check_has(const Members& members, DeviceId id) {
  if (members.has(id)) return {};
  return Error{ErrorCode::kNotFound, "the store has no device " + std::to_string(id),
               "hexad device ls POOL names those that it has."};
}

Result<alloc::Label> data_label(const Members& members) {
  for (const DeviceId id : members.usable_ids()) {
    const std::optional<alloc::Label>& label = members.find(id)->label;
    if (label.has_value() && label->role == alloc::DeviceRole::kData) return *label;
  }
  return Error{ErrorCode::kUnavailable, "no data device is in use", "Attach the missing devices."};
}

bool all_redundant_themselves(const StoreShape& shape, const Members& members) {
  if (shape.m() > 0) return false;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members.at(i);
    const bool counts = members.is_usable(i) && member.role == alloc::DeviceRole::kData;
    if (counts && !member.device->geometry().redundant) return false;
  }
  return true;
}

bool is_emptied(const Members& members, const Space& space, DeviceId id) {
  return members.is_draining(id) && space.slots_on(id) == 0;
}

}  // namespace hexad::core
