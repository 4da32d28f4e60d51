// What has gone wrong with a device, since the store was opened and before, and how it was given
// what it lacked: for people and for programs.
#pragma once

#include <cstdint>
#include <string>

#include "core/api/types.h"
#include "tools/cli/output.h"

namespace hexad::tools {

// "3 read errors, 1 checksum error"; empty if there are none.
std::string describe_errors(const DeviceStatus& device);
// "since 2026-11-26 20:01:12 UTC 3 read errors", with what this opening has added; empty if there
// are none but those of this opening.
std::string describe_all_errors(const DeviceStatus& device);
// "rebuild complete 2026-11-26 20:01:12 UTC: 12 cells, 3 MiB, within 4 s"; empty if there is none.
std::string describe_completion(const DeviceCompletion& completion);
// "2026-11-26 20:01:12 UTC", of nanoseconds since 1970.
std::string format_moment(std::int64_t nanoseconds);
// Adds the counts to what is said of a device, those that are 0, too: errors_total with those of
// all openings, and last_completion, which may be null.
void add_errors(Json& object, const DeviceStatus& device);

}  // namespace hexad::tools
