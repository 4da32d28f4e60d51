// What has gone wrong with a device since the store was opened, for people and for programs.
#pragma once

#include <string>

#include "core/api/types.h"
#include "tools/cli/output.h"

namespace hexad::tools {

// "3 read errors, 1 checksum error"; empty if there are none.
std::string describe_errors(const DeviceStatus& device);
// Adds the counts to what is said of a device, those that are 0, too.
void add_errors(Json& object, const DeviceStatus& device);

}  // namespace hexad::tools
