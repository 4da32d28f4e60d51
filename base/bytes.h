// Views of bytes, and conversions between text and bytes.
//
// Names, keys and encoded records are std::string, in bytewise order; payloads are spans of
// std::byte.
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

// Bytes that are owned elsewhere, for reading.
using ByteView = std::span<const std::byte>;
// Bytes that are owned elsewhere, for writing.
using MutByteView = std::span<std::byte>;
// Bytes that are owned.
using Bytes = std::vector<std::byte>;

// Returns a view of the bytes of a text.
inline ByteView as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// Returns a view of bytes as a text.
inline std::string_view as_text(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Copies `from` to the start of `to`, which has to be at least as long; the two must not overlap.
inline void copy_bytes(MutByteView to, ByteView from) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

// Sets all bytes to zero.
inline void fill_zero(MutByteView to) {
  if (!to.empty()) std::memset(to.data(), 0, to.size());
}

// Returns true if every byte is zero, or there are none.
bool is_zero(ByteView bytes);

// Returns bytes as text for a message: they stay as they are where they are printable, else they
// become \xNN; a backslash is doubled.
//
// So a name with control characters can be shown on any terminal. After `limit` bytes of the input
// "..." follows.
std::string printable(std::string_view bytes, std::size_t limit = 256);

}  // namespace hexad
