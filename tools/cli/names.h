// Names are opaque bytes; people, terminals and JSON want text. The ways between.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text_bytes.h"  // IWYU pragma: export

namespace hexad::tools {

// For a terminal: well-formed UTF-8 stays, a backslash is doubled, all other bytes and every
// control character become \xNN, so that different names never look the same and no name can
// move the cursor.
std::string display_name(std::string_view bytes);

// One word of a command that can be typed into a shell: as it is, in single quotes, or as $'...' of
// bash with \xNN for what a terminal should not see.
std::string shell_word(std::string_view bytes);

// As from_base64(), of a name that a user has typed. Errors: kInvalidArgument, with a hint on
// --name-b64.
Result<std::string> base64_decode(std::string_view text);

}  // namespace hexad::tools
