#include "base/text_bytes.h"

#include <algorithm>
#include <array>

#include "base/bytes.h"

namespace hexad {

namespace {

std::uint8_t byte_at(std::string_view bytes, std::size_t i) {
  return static_cast<std::uint8_t>(bytes[i]);
}

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

Error not_base64(std::string_view text) {
  return Error{ErrorCode::kInvalidArgument, "\"" + printable(text) + "\" is not base64", ""};
}

}  // namespace

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

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const CodePoint point = first_code_point(bytes);
    if (point.length == 0) return false;
    bytes.remove_prefix(point.length);
  }
  return true;
}

std::string to_base64(std::string_view bytes) {
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

Result<std::string> from_base64(std::string_view text) {
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

}  // namespace hexad
