#include "kv/log/log_area.h"

#include <algorithm>

#include "base/aligned_buffer.h"
#include "base/units.h"

namespace hexad::kv {

std::string LogArea::to_string() const {
  return (device == nullptr ? std::string("no device") : device->name()) + " [" +
         std::to_string(offset) + ", +" + format_size(size) + ")";
}

Status check_log_area(const LogArea& area, std::uint32_t block_size) {
  const auto refuse = [&](const std::string& why) {
    return Error{ErrorCode::kInvalidArgument, "log area " + area.to_string() + ": " + why, ""};
  };
  if (area.device == nullptr) return refuse("no device");
  const io::Geometry& geometry = area.device->geometry();
  if (add_overflows(area.offset, area.size) || area.offset + area.size > geometry.size) {
    return refuse("ends behind the device, which has " + format_size(geometry.size));
  }
  if (block_size < 512 || !is_multiple(block_size, geometry.logical_block)) {
    return refuse("log blocks of " + std::to_string(block_size) +
                  " B are not a multiple of the device's logical block of " +
                  std::to_string(geometry.logical_block) + " B (at least 512 B)");
  }
  if (!is_multiple(area.offset, block_size) || !is_multiple(area.size, block_size)) {
    return refuse("offset and size are not multiples of the log's block of " +
                  std::to_string(block_size) + " B");
  }
  return {};
}

Status format_log_area(const LogArea& area, const std::function<bool(std::uint64_t bytes)>& go_on) {
  HEXAD_TRY(check_log_area(
      area, area.device == nullptr
                ? 512
                : std::max<std::uint32_t>(512, area.device->geometry().logical_block)));
  const std::uint64_t piece = std::min<std::uint64_t>(area.size, 4u << 20);
  const AlignedBuffer zeros = AlignedBuffer::zeroed(piece);
  for (std::uint64_t done = 0; done < area.size;) {
    if (go_on && !go_on(done)) {
      return Error{ErrorCode::kClosed, "log area " + area.to_string() + ": ended by the caller",
                   ""};
    }
    const std::uint64_t length = std::min(piece, area.size - done);
    HEXAD_TRY(area.device->write(area.offset + done, zeros.bytes().first(length),
                                 io::WriteMode::kCached, io::IoCause::kZero));
    done += length;
  }
  return area.device->flush();
}

}  // namespace hexad::kv
