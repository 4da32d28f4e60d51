#include "tools/cli/names.h"

#include <array>
#include <cstdint>

namespace hexad::tools {

namespace {

std::uint8_t byte_at(std::string_view bytes, std::size_t i) {
  return static_cast<std::uint8_t>(bytes[i]);
}

// The code point that starts at bytes[0] and its length in bytes; a length of 0 when malformed.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 0;
};

CodePoint first_code_point(std::string_view bytes) {
  const std::uint8_t lead = byte_at(bytes, 0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || bytes.size() < length) return {};
  std::uint32_t value = lead & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte_at(bytes, i) & 0xc0) != 0x80) return {};
    value = (value << 6) | (byte_at(bytes, i) & 0x3fu);
  }
  constexpr std::array<std::uint32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < kSmallest[length] || surrogate || value > 0x10ffff) return {};
  return {value, length};
}

bool is_control(std::uint32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0);
}

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

Error not_base64(std::string_view text) {
  return Error{ErrorCode::kInvalidArgument, "\"" + display_name(text) + "\" is not base64",
               "With --name-b64, names are given as the name_b64 that --json prints."};
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const CodePoint point = first_code_point(bytes);
    if (point.length == 0) return false;
    bytes.remove_prefix(point.length);
  }
  return true;
}

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

std::string base64_encode(std::string_view bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      word = (word << 8) | (i < count ? byte_at(bytes, at + i) : 0u);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= count ? kAlphabet[(word >> (18 - 6 * i)) & 63] : '=';
    }
  }
  return text;
}

Result<std::string> base64_decode(std::string_view text) {
  std::string_view digits = text;
  while (!digits.empty() && digits.back() == '=') digits.remove_suffix(1);
  if (text.size() - digits.size() > 2 || digits.size() % 4 == 1) return not_base64(text);
  std::string bytes;
  std::uint32_t word = 0;
  unsigned bits = 0;
  for (char c : digits) {
    if (c == '-') c = '+';
    if (c == '_') c = '/';
    const std::size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos) return not_base64(text);
    word = (word << 6) | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>(static_cast<unsigned char>(word >> bits));
    }
  }
  return bytes;
}

}  // namespace hexad::tools
