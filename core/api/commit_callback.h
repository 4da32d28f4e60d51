// The callback of Store::submit().
#pragma once

#include <functional>

#include "base/error.h"
#include "base/ids.h"

namespace hexad {

// Is called with the result of a commit: its LSN, or why nothing was applied (kUnknown: a device
// error left that open).
using CommitCallback = std::function<void(Result<Lsn>)>;

}  // namespace hexad
