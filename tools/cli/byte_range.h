// "OFFSET:LENGTH" on the command line.
#pragma once

#include <string_view>

#include "base/error.h"
#include "core/api/types.h"

namespace hexad::tools {

// Both are sizes: "4KiB:100". No length: to the end of the object, as kMaxObjectSize.
// Errors: kInvalidArgument (no colon, or what stands beside it is no size).
Result<ByteRange> parse_byte_range(std::string_view text);

}  // namespace hexad::tools
