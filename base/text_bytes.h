// Bytes that may be text: what is well-formed UTF-8, and base64 for the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace hexad {

// The code point that bytes begin with, and its length in bytes; a length of 0 when malformed.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 0;
};
// Precondition: there is a byte.
CodePoint first_code_point(std::string_view bytes);

// Whether the bytes are well-formed UTF-8 (RFC 3629: shortest forms, no surrogates, at most
// U+10FFFF).
bool is_utf8(std::string_view bytes);

// RFC 4648 section 4, with padding.
std::string to_base64(std::string_view bytes);
// Padding may be left out; both alphabets of RFC 4648 are understood. Errors: kInvalidArgument.
Result<std::string> from_base64(std::string_view text);

}  // namespace hexad
