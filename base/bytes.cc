#include "base/bytes.h"

namespace hexad {

bool is_zero(ByteView bytes) {
  if (bytes.empty()) return true;
  // The first byte is zero and every byte equals its neighbour: one memcmp, vectorised by libc.
  return bytes[0] == std::byte{0} &&
         std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

std::string printable(std::string_view bytes, std::size_t limit) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes.substr(0, limit)) {
    const auto value = static_cast<unsigned char>(c);
    if (c == '\\') {
      text += "\\\\";
    } else if (value < 0x20 || value >= 0x7f) {
      text += "\\x";
      text += kHex[value >> 4];
      text += kHex[value & 15];
    } else {
      text += c;
    }
  }
  if (bytes.size() > limit) text += "...";
  return text;
}

}  // namespace hexad
