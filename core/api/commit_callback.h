// How a commit that nobody waits for reports: the LSN, or why nothing was applied.
#pragma once

#include <functional>

#include "base/error.h"
#include "base/ids.h"

namespace hexad {

using CommitCallback = std::function<void(Result<Lsn>)>;

}  // namespace hexad
