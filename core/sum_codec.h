// Checksums inside records: 4 or 8 bytes each as their type says, little-endian; how many there are
// is known from elsewhere.
#pragma once

#include <cstdint>
#include <vector>

#include "base/checksum.h"
#include "base/codec.h"

namespace hexad::core {

// Precondition: each fits its type.
void encode_sums(Encoder& out, const std::vector<std::uint64_t>& sums, ChecksumType type);
// Fails the decoder, before anything of that size is allocated, when fewer than `count` are left.
std::vector<std::uint64_t> decode_sums(Decoder& in, std::uint64_t count, ChecksumType type);

}  // namespace hexad::core
