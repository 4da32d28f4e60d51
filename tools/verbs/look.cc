#include "tools/verbs/look.h"

namespace hexad::tools {

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

const char* health_name(Health health) {
  switch (health) {
    case Health::kOk:
      return "ok";
    case Health::kDegraded:
      return "degraded";
    case Health::kUnavailable:
      break;
  }
  return "unavailable";
}

}  // namespace hexad::tools
