// What is said of a device that is being drained.
#pragma once

#include <string>

#include "core/api/types.h"

namespace hexad::tools {

// "is being drained: 12 of 40 slabs left", "is drained: nothing is left on it"; empty: it is not.
std::string describe_drain(const DeviceStatus& device);
// It is being drained, and something is left on it.
bool has_slabs_to_move(const DeviceStatus& device);

}  // namespace hexad::tools
