// Making a store.
#pragma once

#include "base/error.h"
#include "core/options.h"
#include "core/pool.h"
#include "io/system.h"

namespace hexad::core {

// Labels, roots, empty logs and an empty index; no collection yet. All checks come before the first
// write; files made by a call that fails afterwards are removed again.
Result<PoolDescription> format_devices(const FormatOptions& options, io::System& system);

}  // namespace hexad::core
