// Views over bytes, and the way between text and bytes. Keys and encoded records are std::string
// (bytewise ordered); payloads are spans of std::byte.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hexad {

using ByteView = std::span<const std::byte>;
using MutByteView = std::span<std::byte>;
using Bytes = std::vector<std::byte>;

inline ByteView as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

inline std::string_view as_text(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Copies `from` to the start of `to`, which is at least as long.
inline void copy_bytes(MutByteView to, ByteView from) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

inline void fill_zero(MutByteView to) {
  if (!to.empty()) std::memset(to.data(), 0, to.size());
}

// True when every byte is zero; true for none. Cost: one pass.
bool is_zero(ByteView bytes);

// Bytes as they are where printable, else \xNN, the backslash doubled: for messages, so that a
// name with control characters can be shown on any terminal. At most `limit` input bytes, then
// "...".
std::string printable(std::string_view bytes, std::size_t limit = 256);

}  // namespace hexad
