// How the record of an object begins, for those who read one. For the files of this folder alone.
// doc/format.md#object-record
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/codec.h"
#include "core/record/record.h"

namespace hexad::core {

// First byte.
inline constexpr std::uint8_t kObjectKind = 0x01;
inline constexpr std::uint8_t kCutObjectKind = 0x0d;  // with pages, some of them cut off

// Second byte.
inline constexpr std::uint8_t kHasAttributes = 0x01;
inline constexpr std::uint8_t kIsPaged = 0x02;
inline constexpr unsigned kHintShift = 2;
inline constexpr std::uint8_t kHintMask = 0x0c;
inline constexpr std::uint8_t kHasUnplaced = 0x10;
inline constexpr std::uint8_t kHasMoreHints = 0x20;
inline constexpr std::uint8_t kHasOmap = 0x40;
inline constexpr std::uint8_t kHasLayers = 0x80;

inline constexpr std::size_t kMaxAttributeName = 255;  // bytes

// The fields that every reader needs.
struct ObjectHead {
  std::uint8_t flags = 0;
  bool has_cuts = false;
  ObjectSummary summary;
};

// Fails the decoder on a foreign kind.
inline ObjectHead decode_head(Decoder& in) {
  ObjectHead head;
  const std::uint8_t kind = in.u8();
  head.has_cuts = kind == kCutObjectKind;
  if (kind != kObjectKind && !head.has_cuts) in.fail();
  head.flags = in.u8();
  if (head.has_cuts && (head.flags & kIsPaged) == 0) in.fail();
  head.summary.version = in.varint();
  head.summary.size = in.varint_up_to(kMaxObjectSize);
  head.summary.compression_hint = (head.flags & kHintMask) >> kHintShift;
  return head;
}

}  // namespace hexad::core
