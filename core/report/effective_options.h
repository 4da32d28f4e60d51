// The options that an open store goes by, and where each comes from.
#pragma once

#include <vector>

#include "core/api/types.h"
#include "core/opening/store_parts.h"

namespace hexad::core {

std::vector<EffectiveOption> effective_options(const StoreParts& store);

}  // namespace hexad::core
