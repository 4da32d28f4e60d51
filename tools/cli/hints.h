// Hints by their names: "compressible", "append-only", ...
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "core/api/types.h"

namespace hexad::tools {

// Every word is one name or several with commas between; "none" stands alone. No words: none.
// Errors: kInvalidArgument (no such hint, two that exclude each other).
Result<Hint> parse_hints(const std::vector<std::string>& words);

// In the order of their values; none for Hint::kNone.
std::vector<std::string> hint_names(Hint hints);

// "compressible, incompressible, ...": all that there are.
std::string known_hints();

}  // namespace hexad::tools
