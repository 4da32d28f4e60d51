// The golden bytes as part of a program: fuzz targets begin with them, wherever they are run.
#pragma once

#include <string_view>

namespace hexad::testing {

// Of tests/format/NAME.hex. Asserts that there is such a file.
std::string_view golden_bytes(std::string_view name);

}  // namespace hexad::testing
