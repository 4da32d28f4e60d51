#include "tools/cli/names.h"

#include <cstdint>

namespace hexad::tools {

namespace {

std::uint8_t byte_at(std::string_view bytes, std::size_t i) {
  return static_cast<std::uint8_t>(bytes[i]);
}

bool is_control(std::uint32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0);
}

Error not_base64(std::string_view text) {
  return Error{ErrorCode::kInvalidArgument, "\"" + display_name(text) + "\" is not base64",
               "With --name-b64, names are given as the name_b64 that --json prints."};
}

}  // namespace

std::string display_name(std::string_view bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  while (!bytes.empty()) {
    const CodePoint point = first_code_point(bytes);
    const std::size_t length = point.length == 0 ? 1 : point.length;
    if (point.length == 0 || is_control(point.value)) {
      for (std::size_t i = 0; i < length; ++i) {
        text += "\\x";
        text += kHex[byte_at(bytes, i) >> 4];
        text += kHex[byte_at(bytes, i) & 15];
      }
    } else {
      if (point.value == '\\') text += '\\';
      text += bytes.substr(0, length);
    }
    bytes.remove_prefix(length);
  }
  return text;
}

std::string shell_word(std::string_view bytes) {
  static constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:,@%^=";
  if (!bytes.empty() && bytes.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(bytes);
  }
  const std::string shown = display_name(bytes);
  // display_name() doubles a backslash, which single quotes would keep double.
  const bool as_it_is = shown == bytes;
  std::string word = as_it_is ? "'" : "$'";
  for (const char c : shown) {
    if (c == '\'') {
      word += as_it_is ? "'\\''" : "\\'";
    } else {
      word += c;
    }
  }
  return word + "'";
}

Result<std::string> base64_decode(std::string_view text) {
  Result<std::string> bytes = from_base64(text);
  if (!bytes.ok()) return not_base64(text);
  return bytes;
}

}  // namespace hexad::tools
