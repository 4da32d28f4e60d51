#include "alloc/device_layout.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>

namespace hexad::alloc {

namespace {

// Above this, sums of two offsets could wrap; no device is that large.
constexpr std::uint64_t kMaxDeviceSize = std::uint64_t{1} << 62;

Error invalid(std::string message, std::string hint) {
  return Error{ErrorCode::kInvalidArgument, std::move(message), std::move(hint)};
}

// With the exact number: format_size() rounds, and this is about remainders.
std::string size_text(std::uint64_t bytes) {
  const std::string exact = std::to_string(bytes) + " B";
  const std::string text = format_size(bytes);
  return text == exact ? exact : text + " (" + exact + ")";
}

Error broken(const std::string& message) {
  return Error{ErrorCode::kCorruption, "device layout: " + message, ""};
}

Status check_block(std::uint32_t block, const std::string& which) {
  if (std::has_single_bit(block) && block >= kMinPhysicalBlock && block <= kMaxPhysicalBlock) {
    return {};
  }
  return invalid(which + " block of " + size_text(block) + " is not supported",
                 "It has to be a power of two from 512 B to 16 KiB.");
}

Status check_multiple(std::uint64_t unit, std::uint32_t physical_block) {
  if (unit != 0 && is_multiple(unit, physical_block) && unit <= kMaxUnit) return {};
  std::string hint = "The nearest legal value";
  const std::uint64_t below = round_down(std::min(unit, kMaxUnit), physical_block);
  const bool above_fits = unit < kMaxUnit;
  const std::uint64_t above =
      above_fits ? round_up(std::max<std::uint64_t>(unit, 1), physical_block) : 0;
  if (below != 0 && above_fits) {
    hint += "s are " + size_text(below) + " and " + size_text(above) + ".";
  } else {
    hint += " is " + size_text(below != 0 ? below : above) + ".";
  }
  if (unit > kMaxUnit) {
    return invalid("min_alloc of " + size_text(unit) + " is above " + format_size(kMaxUnit), hint);
  }
  return invalid("min_alloc of " + size_text(unit) +
                     " is not a multiple of the physical block of " + size_text(physical_block),
                 hint);
}

// DL1. A log device has no units; what lies there is in whole ones all the same.
Status check_blocks(std::uint64_t unit, std::uint32_t physical_block, std::uint32_t log_block,
                    DeviceRole role) {
  HEXAD_TRY(check_block(physical_block, "physical"));
  if (log_block != 0) {
    HEXAD_TRY(check_block(log_block, "log"));
    if (log_block <= physical_block) {
      return invalid("log blocks of " + size_text(log_block) + " on physical blocks of " +
                         size_text(physical_block) + " say nothing",
                     "");
    }
  }
  return check_multiple(unit, role == DeviceRole::kData ? physical_block : 1);
}

}  // namespace

std::string_view to_string(DeviceRole role) { return role == DeviceRole::kData ? "data" : "log"; }
std::string_view to_string(DeviceEnd end) { return end == DeviceEnd::kHead ? "head" : "tail"; }

Status check_unit(std::uint64_t unit, std::uint32_t physical_block) {
  HEXAD_TRY(check_block(physical_block, "physical"));
  return check_multiple(unit, physical_block);
}

std::uint32_t default_slab_units(std::uint64_t room, std::uint64_t unit, std::uint64_t piece) {
  const std::uint64_t wanted = std::clamp<std::uint64_t>(room / 64, 1_MiB, 1_GiB);
  std::uint64_t bytes = std::min(wanted, room / 16);
  if (piece > 0) {
    const std::uint64_t whole = std::lcm(piece, unit);
    if (has_pieces(room, whole)) bytes = std::max(round_down(bytes + whole / 2, whole), whole);
  }
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bytes / unit, 8, kMaxSlabUnits));
}

Result<DeviceLayout> plan_layout(const LayoutRequest& request) {
  const bool data = request.role == DeviceRole::kData;
  const std::uint32_t log_block = std::max(request.log_block, request.physical_block);
  HEXAD_TRY(check_blocks(request.unit, request.physical_block,
                         log_block == request.physical_block ? 0 : log_block, request.role));
  if (request.device_size > kMaxDeviceSize || request.log_size > request.device_size) {
    return Error{ErrorCode::kNoSpace,
                 "a device of " + size_text(request.device_size) + " cannot hold a log area of " +
                     size_text(request.log_size),
                 "Use a larger device or a smaller log."};
  }
  if (!data && request.log_size == 0) {
    return invalid("a log device needs a log area", "Name a log size.");
  }
  if (data && (request.slab_units < kMinSlabUnits || request.slab_units > kMaxSlabUnits)) {
    return invalid("a slab of " + std::to_string(request.slab_units) + " units of " +
                       size_text(request.unit) + " is not supported",
                   "It has to have from " + std::to_string(kMinSlabUnits) + " to " +
                       std::to_string(kMaxSlabUnits) + " units.");
  }
  DeviceLayout layout;
  layout.device_size = request.device_size;
  const std::uint64_t alignment = area_alignment(request.unit, log_block);
  layout.physical_block = request.physical_block;
  layout.log_block = log_block == request.physical_block ? 0 : log_block;
  layout.unit = static_cast<std::uint32_t>(request.unit);
  layout.log_size = round_up(request.log_size, alignment);
  layout.slab_units = data ? static_cast<std::uint32_t>(request.slab_units) : 0;
  const auto place = [&](std::uint64_t begin) {
    layout.log_offset = round_up(kHeadEnd, begin);
    layout.first_slab = round_up(layout.log_offset + layout.log_size, begin);
  };
  const std::uint64_t end = header_offset(DeviceEnd::kTail, request.device_size);
  const std::uint64_t piece = request.piece == 0 ? 0 : std::lcm(alignment, request.piece);
  const bool in_pieces =
      has_pieces(request.device_size, piece) && is_multiple(layout.slab_size(), piece);
  place(in_pieces ? piece : alignment);
  const std::uint64_t fixed = layout.first_slab;
  if (end < fixed + layout.slab_size()) {
    return Error{ErrorCode::kNoSpace,
                 "a " + std::string(to_string(request.role)) + " device of " +
                     size_text(request.device_size) + " is too small: the headers at both ends " +
                     size_text(kEndsSize) + ", log " + size_text(layout.log_size) +
                     (data ? ", one slab " + size_text(layout.slab_size()) : "") + " need " +
                     size_text(least_device_size(layout.log_size + layout.slab_size(), alignment)),
                 data ? "Use a larger device, a smaller log or smaller slabs."
                      : "Use a larger device or a smaller log."};
  }
  if (data) {
    const std::uint64_t count = (end - fixed) / layout.slab_size();
    if (count > kMaxSlabs) {
      return invalid(
          "a device of " + size_text(request.device_size) + " would have " + std::to_string(count) +
              " slabs of " + size_text(layout.slab_size()) + ", more than " +
              std::to_string(kMaxSlabs),
          "Choose slabs of at least " +
              size_text(round_up(divide_up(request.device_size, kMaxSlabs), request.unit)) + ".");
    }
    layout.slab_count = static_cast<std::uint32_t>(count);
  }
  return layout;
}

Status check_layout(const DeviceLayout& layout, DeviceRole role) {
  const Status blocks = check_blocks(layout.unit, layout.physical_block, layout.log_block, role);
  if (!blocks.ok()) return broken(blocks.error().message);  // DL1
  if (layout.device_size > kMaxDeviceSize) return broken("impossible device size");
  const std::uint64_t size = header_offset(DeviceEnd::kTail, layout.device_size);
  const bool bounded = layout.log_offset <= size && layout.log_size <= size &&
                       layout.first_slab <= size && layout.slab_count <= kMaxSlabs &&
                       layout.slab_units <= kMaxSlabUnits;
  if (!bounded)
    return broken("areas outside the device of " + size_text(layout.device_size));  // DL3
  if (!is_multiple(layout.log_offset, layout.unit) || !is_multiple(layout.log_size, layout.unit) ||
      !is_multiple(layout.first_slab, layout.unit)) {
    return broken("areas are not aligned to the unit of " + size_text(layout.unit));  // DL2
  }
  if (!is_multiple(layout.log_offset, layout.block_of_log()) ||
      !is_multiple(layout.log_size, layout.block_of_log())) {
    return broken("the log area is not aligned to the log block of " +
                  size_text(layout.block_of_log()));  // DL2
  }
  if (layout.log_offset < kHeadEnd || layout.log_offset + layout.log_size > layout.first_slab) {
    return broken("header, log area and slabs overlap");  // DL3
  }
  if (layout.slab_count != 0 && layout.slab_units < kMinSlabUnits) {
    return broken("slabs of " + std::to_string(layout.slab_units) + " units");
  }
  // Bounded above: 2^20 slabs x 2^24 units x 2^24 bytes could wrap, so divide.
  if (layout.slab_count != 0 &&
      layout.slab_count > (size - layout.first_slab) / layout.slab_size()) {
    return broken(std::to_string(layout.slab_count) + " slabs of " + size_text(layout.slab_size()) +
                  " do not fit into " + size_text(size));  // DL3
  }
  const bool data = role == DeviceRole::kData;
  if (data ? layout.slab_count == 0 : (layout.slab_count != 0 || layout.log_size == 0)) {
    return broken("areas do not suit a " + std::string(to_string(role)) + " device");  // DL4
  }
  return {};
}

}  // namespace hexad::alloc
