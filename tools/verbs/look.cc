#include "tools/verbs/look.h"

#include <fmt/format.h>

#include <charconv>

#include "tools/cli/names.h"

namespace hexad::tools {

Result<DeviceId> parse_device(const std::string& word, const Session& session) {
  DeviceId::Representation id = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
  if (error == std::errc() && end == word.data() + word.size()) return DeviceId{id};
  return Error{ErrorCode::kInvalidArgument, "'" + printable(word) + "' is no device number",
               fmt::format("hexad device ls {} shows them.", session.pool().word())};
}

void tell_ids(std::vector<DeviceStatus>& devices) {
  const auto unknown = [](const DeviceStatus& device) {
    return device.size == 0 && device.id == 0;
  };
  bool in_order = true;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (!unknown(devices[i]) && devices[i].id != i) in_order = false;
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (unknown(devices[i])) devices[i].id = in_order ? static_cast<DeviceId>(i) : kNoId;
  }
}

std::optional<DeviceStatus> find_device(const StoreStatus& status, DeviceId id) {
  for (const DeviceStatus& device : status.devices) {
    if (device.id == id && !device.role.empty()) return device;
  }
  return std::nullopt;
}

Result<StoreStatus> look_at_devices(Session& session) {
  Result<OpenView> pool = session.open_view();
  if (!pool.ok()) {
    HEXAD_TRY_ASSIGN(const PoolDescription description, session.pool().describe());
    Result<StoreStatus> inspected = inspect(description);
    return inspected.ok() ? std::move(inspected) : Result<StoreStatus>(pool.error());
  }
  HEXAD_TRY_ASSIGN(const StoreStatus status, pool->view->status());
  HEXAD_TRY(pool->close());
  return status;
}

Result<StoreStatus> judged_status(PoolView& view) {
  Result<StoreStatus> status = view.status();
  if (!status.ok() || status->damaged_blobs == 0) return status;
  // What cannot be looked at is told as it was found.
  if (!view.damage().ok()) return status;
  return view.status();
}

const char* health_name(Health health) {
  switch (health) {
    case Health::kOk:
      return "ok";
    case Health::kDegraded:
      return "degraded";
    case Health::kDamaged:
      return "damaged";
    case Health::kUnavailable:
      break;
  }
  return "unavailable";
}

}  // namespace hexad::tools
