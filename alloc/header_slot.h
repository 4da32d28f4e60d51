// Reading and padding of the fixed places at the start of a device and of a slab.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "io/device.h"

namespace hexad::alloc {

// The smallest piece to write so that no other structure shares a physical block with it: the
// physical block, within what a header slot can hold.
std::uint64_t write_block(const io::Geometry& geometry);

// `bytes` and zeros up to a multiple of `block`.
AlignedBuffer padded(std::string_view bytes, std::uint64_t block);

// The kHeaderSlotSize bytes at `offset`, fewer on a shorter device. Errors: those of the read.
Result<AlignedBuffer> read_header_slot(io::Device& device, std::uint64_t offset);

}  // namespace hexad::alloc
