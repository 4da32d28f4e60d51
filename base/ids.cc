#include "base/ids.h"

#include <cctype>
#include <cstddef>

namespace hexad {

namespace {

constexpr bool dash_before(std::size_t byte) {
  return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string to_string(const Uuid& uuid) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < uuid.bytes.size(); ++i) {
    if (dash_before(i)) text += '-';
    text += kHex[uuid.bytes[i] >> 4];
    text += kHex[uuid.bytes[i] & 15];
  }
  return text;
}

Result<Uuid> parse_uuid(std::string_view text) {
  const Error bad{ErrorCode::kInvalidArgument, "\"" + std::string(text) + "\" is not a UUID",
                  "A UUID has 32 hexadecimal digits in groups of 8-4-4-4-12."};
  Uuid uuid;
  std::size_t at = 0;
  for (std::size_t i = 0; i < uuid.bytes.size(); ++i) {
    if (dash_before(i)) {
      if (at >= text.size() || text[at] != '-') return bad;
      ++at;
    }
    if (at + 2 > text.size()) return bad;
    const int high = digit_value(text[at]);
    const int low = digit_value(text[at + 1]);
    if (high < 0 || low < 0) return bad;
    uuid.bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
    at += 2;
  }
  if (at != text.size()) return bad;
  return uuid;
}

}  // namespace hexad
