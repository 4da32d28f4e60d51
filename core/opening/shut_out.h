// Taking a pool over from whoever has it (TO4).
#pragma once

#include <vector>

#include "base/error.h"
#include "core/api/pool.h"
#include "io/system.h"

namespace hexad::core {

// The devices of `pool`, those in its fast directories included, that somebody has open for
// writing. What is not there, or has failed, is nobody's. Errors: what is no fault of a device
// (io/os_error.h), kBusy aside.
Result<std::vector<DeviceHolder>> find_holders(const PoolDescription& pool, io::System& system);

// Shuts them out of all of these devices, and returns which those were: whoever opens the pool now
// reads nothing that they can still change. Errors: as above; kBusy (some cannot be shut out; then
// nobody has been); those of io::System::shut_out(), and then some may have been.
Result<std::vector<DeviceHolder>> shut_out_holders(const PoolDescription& pool, io::System& system);

}  // namespace hexad::core
