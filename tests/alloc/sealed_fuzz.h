// What the fuzz targets of sealed structures have in common. The input is the body: the frame
// around it gets a length and a checksum that fit, so that every input reaches the decoder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "alloc/sealed_block.h"
#include "base/assert.h"
#include "base/bytes.h"

namespace hexad::alloc::testing {

// Decodes the input as it is and as the body behind `magic`. What decodes is encoded, and comes
// back from that as it was. Returns what the body was decoded to.
template <typename Decode, typename Encode>
auto decode_both(std::string_view magic, const std::uint8_t* data, std::size_t size,
                 const Decode& decode, const Encode& encode) {
  const ByteView input(reinterpret_cast<const std::byte*>(data), size);
  decode(input).status().ignore();
  const std::string frame = seal(magic, as_text(input));
  auto value = decode(as_bytes(frame));
  if (value.ok()) {
    const auto again = decode(as_bytes(encode(*value)));
    HEXAD_ASSERT(again.ok() && *again == *value);
  }
  return value;
}

// Without its frame.
inline std::string body_of(std::string_view golden) {
  HEXAD_ASSERT(golden.size() > kSealSize);
  return std::string(golden.substr(kSealSize));
}

}  // namespace hexad::alloc::testing
