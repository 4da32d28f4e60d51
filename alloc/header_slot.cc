#include "alloc/header_slot.h"

#include <algorithm>

#include "alloc/device_layout.h"
#include "base/units.h"

namespace hexad::alloc {

std::uint64_t write_block(const io::Geometry& geometry) {
  const std::uint64_t block = std::min(geometry.physical_block, kMaxPhysicalBlock);
  return std::max<std::uint64_t>(block, geometry.logical_block);
}

AlignedBuffer padded(std::string_view bytes, std::uint64_t block) {
  AlignedBuffer buffer = AlignedBuffer::zeroed(round_up(bytes.size(), block));
  copy_bytes(buffer.bytes(), as_bytes(bytes));
  return buffer;
}

Status clear_ends(const LaidOutDevice& target) {
  io::Device& device = *target.device;
  const std::uint64_t size = round_down(target.size, device.geometry().logical_block);
  const std::uint64_t tail = header_offset(DeviceEnd::kTail, target.size);
  const AlignedBuffer zeros =
      AlignedBuffer::zeroed(std::max(kHeadEnd, size > tail ? size - tail : 0));
  HEXAD_TRY(device.write(0, zeros.bytes().first(std::min(size, kHeadEnd)), io::WriteMode::kDurable,
                         io::IoCause::kSuper));
  if (size <= tail) return {};
  return device.write(tail, zeros.bytes().first(size - tail), io::WriteMode::kDurable,
                      io::IoCause::kSuper);
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
