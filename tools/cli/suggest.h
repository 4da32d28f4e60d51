// "Did you mean ...?"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hexad::tools {

// The candidate nearest to `word` (insertions, deletions, substitutions, swaps of neighbours), or
// the empty string when none is near enough to be meant.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace hexad::tools
