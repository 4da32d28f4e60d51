// Reading and padding of the fixed places at the start of a device and of a slab.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "io/device.h"

namespace hexad::alloc {

// A device, and the size it was laid out with, which says where its tail is.
struct LaidOutDevice {
  io::Device* device = nullptr;
  std::uint64_t size = 0;  // bytes
};

// The smallest piece to write so that no other structure shares a physical block with it: the
// physical block, up to the largest that a layout knows.
std::uint64_t write_block(const io::Geometry& geometry);

// `bytes` and zeros up to a multiple of `block`.
AlignedBuffer padded(std::string_view bytes, std::uint64_t block);

// Zeros from the start of the device to behind the header at its head, and from the one at its tail
// to its end, durably: labels and roots of an older store, of versions that had them at the very
// start too, and what other programs know a device by. An older root may have a higher epoch: left
// there it would pass for the newest of its end, and each root of a new store would be written over
// the only one before it. Errors: those of the device.
Status clear_ends(const LaidOutDevice& device);

// The kHeaderSlotSize bytes at `offset`, fewer on a shorter device. Errors: those of the read.
Result<AlignedBuffer> read_header_slot(io::Device& device, std::uint64_t offset);

}  // namespace hexad::alloc
