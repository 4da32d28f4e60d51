#include "alloc/header_slot.h"

#include <algorithm>

#include "alloc/device_layout.h"
#include "base/units.h"

namespace hexad::alloc {

std::uint64_t write_block(const io::Geometry& geometry) {
  const std::uint64_t block = std::min<std::uint64_t>(geometry.physical_block, kHeaderSlotSize);
  return std::max<std::uint64_t>(block, geometry.logical_block);
}

AlignedBuffer padded(std::string_view bytes, std::uint64_t block) {
  AlignedBuffer buffer = AlignedBuffer::zeroed(round_up(bytes.size(), block));
  copy_bytes(buffer.bytes(), as_bytes(bytes));
  return buffer;
}

Result<AlignedBuffer> read_header_slot(io::Device& device, std::uint64_t offset) {
  const io::Geometry& geometry = device.geometry();
  const std::uint64_t end = std::min(geometry.size, offset + kHeaderSlotSize);
  const std::uint64_t length = end > offset ? round_down(end - offset, geometry.logical_block) : 0;
  AlignedBuffer buffer(length);
  if (length != 0) HEXAD_TRY(device.read(offset, buffer.bytes()));
  return buffer;
}

}  // namespace hexad::alloc
