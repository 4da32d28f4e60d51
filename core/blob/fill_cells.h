// The cells of a stripe that one run of bytes has for itself: laid out, coded and summed in one
// walk.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/checksum.h"
#include "base/error.h"
#include "core/record/record.h"
#include "core/record/sum_list.h"
#include "ec/codec.h"

namespace hexad::core {

// Appends the sums of consecutive blocks of `block` bytes, the last one short where need be.
void append_block_sums(ChecksumType type, ByteView bytes, std::uint32_t block, SumList& sums);

// The sums of a private stripe, as its record has them.
struct StripeSums {
  SumList cells;   // of all k+m
  SumList blocks;  // of the data cells, one after the other; none where the cell sums serve
};

// Cuts `stored` into the first k of the `cells`, fills what is left of them with zeros, and encodes
// the last m. `cells`: k+m of one length, a multiple of 512 bytes; the first k hold `stored`.
//
// Errors: those of coding.
Status fill_cells(ByteView stored, std::span<const MutByteView> cells, const ec::Codec& codec);

// The same, and returns the sums. With crc32c the cells are copied, summed and coded in one walk
// (ec::Codec::encode_and_sum()), and the sum of a data cell is joined from those of its blocks;
// with xxh3, whose sums cannot be joined, the cells are summed when they are complete. The sums are
// those of the cells, never of `stored`, which somebody may be changing.
//
// Errors: those of coding.
Result<StripeSums> fill_and_sum_cells(ByteView stored, std::span<const MutByteView> cells,
                                      const ec::Codec& codec, const RecordShape& record);

}  // namespace hexad::core
