// Names are opaque bytes; people, terminals and JSON want text. The ways between.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace hexad::tools {

// Whether the bytes are well-formed UTF-8 (RFC 3629: shortest forms, no surrogates, at most
// U+10FFFF).
bool is_utf8(std::string_view bytes);

// For a terminal: well-formed UTF-8 stays, a backslash is doubled, all other bytes and every
// control character become \xNN, so that different names never look the same and no name can
// move the cursor.
std::string display_name(std::string_view bytes);

// One word of a command that can be typed into a shell: as it is, in single quotes, or as $'...' of
// bash with \xNN for what a terminal should not see.
std::string shell_word(std::string_view bytes);

// RFC 4648 section 4, with padding.
std::string base64_encode(std::string_view bytes);
// Padding may be left out; both alphabets of RFC 4648 are understood. Errors: kInvalidArgument.
Result<std::string> base64_decode(std::string_view text);

}  // namespace hexad::tools
