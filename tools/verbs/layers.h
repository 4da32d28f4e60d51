// What status and df say of where the metadata is, of the layers that answer, and of the time until
// a pool is full.
#pragma once

#include <string>

#include "core/api/types.h"
#include "tools/cli/output.h"

namespace hexad::tools {

// Lines for people; empty: the pool is not open.
std::string layers_text(const StoreStatus& status);
std::string fill_text(const FillForecast& fill);

// Adds "metadata_on", "layers" and "fill".
void add_layers(Json& object, const StoreStatus& status);

}  // namespace hexad::tools
