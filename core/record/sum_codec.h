// Checksums inside records: 4 or 8 bytes each as their type says, little-endian; how many there are
// is known from elsewhere.
#pragma once

#include <cstdint>

#include "base/checksum.h"
#include "base/codec.h"
#include "core/record/sum_list.h"

namespace hexad::core {

// Precondition: each fits its type.
void encode_sums(Encoder& out, const SumList& sums, ChecksumType type);
// Fails the decoder, before anything of that size is allocated, when fewer than `count` are left.
SumList decode_sums(Decoder& in, std::uint64_t count, ChecksumType type);

}  // namespace hexad::core
