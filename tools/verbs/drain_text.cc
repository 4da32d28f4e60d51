#include "tools/verbs/drain_text.h"

#include <fmt/format.h>

namespace hexad::tools {

std::string describe_drain(const DeviceStatus& device) {
  if (!device.draining) return "";
  if (device.slabs == 0) return "is being drained";  // as its root says, which does not count them
  if (device.slabs_used == 0) return "is drained: nothing is left on it";
  return fmt::format("is being drained: {} of {} slabs left", device.slabs_used, device.slabs);
}

bool has_slabs_to_move(const DeviceStatus& device) {
  return device.draining && (device.slabs == 0 || device.slabs_used > 0);
}

}  // namespace hexad::tools
