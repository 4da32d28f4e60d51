// The frame around label, root, slab header and zone image: magic, length, checksum. A frame says
// whether these bytes are the structure they claim to be, before any field is looked at.
//
//   0   8  magic, eight characters
//   8   4  crc32c of bytes 12 .. length
//   12  4  length: bytes of the frame and the body together
//   16     body
//
// What follows `length` in the slot belongs to nobody and is not looked at: it may be left over
// from a longer structure. Writers pad to the physical block with zeros.
// Uuids in a body are written as base/uuid_codec.h does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/codec.h"
#include "base/error.h"
#include "base/uuid_codec.h"

namespace hexad::alloc {

inline constexpr std::size_t kMagicSize = 8;
inline constexpr std::size_t kSealSize = 16;

// `magic` has eight characters; frame and body are below 4 GiB.
std::string seal(std::string_view magic, std::string_view body);

// The body inside `slot`. `what` names the structure in messages. Errors: kNotFound (another magic:
// nothing of the kind was ever written here), kCorruption (length or checksum).
Result<std::string_view> unseal(std::string_view magic, ByteView slot, std::string_view what);

bool has_magic(std::string_view magic, ByteView slot);

}  // namespace hexad::alloc
