// Where things lie on a device: a pure function of its size and of what was chosen at mkfs.
//
//   0      1 MiB                          (rounded up to a unit)            end - 2 MiB
//   +------+-------+--------+--------+----+----------+--------+-----+------+-------+------+------+--+
//   |      | label | root 0 | root 1 |    | log area | slab 0 | ... |      | label | root | root |
//   |
//   +------+-------+--------+--------+----+----------+--------+-----+------+-------+------+------+--+
//          header at the head                                              header at the tail
//
// Label and roots lie at both ends, far enough from them that a partition table, or the first or
// the last MiB written over, ends no device. `end` is that of the device as laid out. Bytes:
// doc/format.md, "Device layout".
//
// Invariants, checked by check_layout()
//   DL1 the physical block is a power of two from 512 B to 16 KiB; on a data device the unit is a
//       multiple of it; the log block is a power of two, too, and no smaller
//   DL2 the log area and every slab start and end at multiples of the unit, and the log area at
//       multiples of the log block, hence they never share a physical block with a neighbour: a
//       torn write cannot damage anybody else's bytes
//   DL3 the header at the head, log area, slabs and the header at the tail follow one another
//       without overlap and end within the device
//   DL4 a log device has a log area and no slabs
#pragma once

#include <cstdint>
#include <numeric>

#include "base/error.h"
#include "base/units.h"

namespace hexad::alloc {

// What a device is for. Values are on disk; never reused.
enum class DeviceRole : std::uint8_t { kData = 1, kLog = 2 };

std::string_view to_string(DeviceRole role);  // "data", "log"

// A header is a label and two root slots.
inline constexpr std::uint64_t kHeaderSlotSize = 64_KiB;  // of a label, of a root slot
inline constexpr std::uint64_t kHeaderSize = 3 * kHeaderSlotSize;
inline constexpr std::uint64_t kHeadOffset = 1_MiB;
inline constexpr std::uint64_t kHeadEnd = kHeadOffset + kHeaderSize;
// From the header at the tail to the end, rounded up to a slot.
inline constexpr std::uint64_t kTailSize = 2_MiB;
// What the two ends of a device take, where its size is a multiple of a slot.
inline constexpr std::uint64_t kEndsSize = kHeadEnd + kTailSize;
inline constexpr std::uint32_t kMinPhysicalBlock = 512;
inline constexpr std::uint32_t kMaxPhysicalBlock = 16 << 10;
inline constexpr std::uint64_t kMaxUnit = 16_MiB;
// The header unit and at least one to allocate.
inline constexpr std::uint32_t kMinSlabUnits = 2;
// Bounds the bitmap of a zone (2 MiB) and thus what a decoder allocates.
inline constexpr std::uint32_t kMaxSlabUnits = 1 << 24;
inline constexpr std::uint32_t kMaxSlabs = 1 << 20;  // per device

// Where a header lies.
enum class DeviceEnd : std::uint8_t { kHead = 0, kTail = 1 };
inline constexpr DeviceEnd kDeviceEnds[] = {DeviceEnd::kHead, DeviceEnd::kTail};

std::string_view to_string(DeviceEnd end);  // "head", "tail"

// `size`: of the device as laid out. Of one that is too small for two headers, the one at the tail
// lies behind its end.
constexpr std::uint64_t header_offset(DeviceEnd end, std::uint64_t size) {
  if (end == DeviceEnd::kHead) return kHeadOffset;
  return size < kEndsSize ? kHeadEnd : round_down(size - kTailSize, kHeaderSlotSize);
}
constexpr std::uint64_t label_offset(DeviceEnd end, std::uint64_t size) {
  return header_offset(end, size);
}
constexpr std::uint64_t root_offset(DeviceEnd end, unsigned slot, std::uint64_t size) {
  return header_offset(end, size) + (1 + slot) * kHeaderSlotSize;
}
// Whether `offset` is in one of the two.
constexpr bool is_in_header(std::uint64_t offset, std::uint64_t size) {
  for (const DeviceEnd end : kDeviceEnds) {
    const std::uint64_t begin = header_offset(end, size);
    if (offset >= begin && offset - begin < kHeaderSize) return true;
  }
  return false;
}
// Of log areas, and so of where the slabs begin: whole units and whole log blocks.
constexpr std::uint64_t area_alignment(std::uint64_t unit, std::uint32_t log_block) {
  return std::lcm(unit, std::uint64_t{log_block});
}
// Of a device whose log area and slabs take `bytes`, a multiple of `alignment` and units behind it.
constexpr std::uint64_t least_device_size(std::uint64_t bytes, std::uint64_t alignment) {
  return round_up(round_up(kHeadEnd, alignment) + bytes, kHeaderSlotSize) + kTailSize;
}

// All offsets and sizes in bytes from the start of the device.
struct DeviceLayout {
  std::uint64_t device_size = 0;  // as laid out; the device may be larger, never smaller
  std::uint32_t physical_block = 0;
  // What log blocks are multiples of, on all devices of a store: the largest of their physical
  // blocks. 0: that of this device.
  std::uint32_t log_block = 0;
  std::uint32_t unit = 0;  // min_alloc
  std::uint64_t log_offset = 0;
  std::uint64_t log_size = 0;    // 0: no log area
  std::uint64_t first_slab = 0;  // offset of slab 0, also when there is none
  std::uint32_t slab_units = 0;  // units per slab, equal on all devices of a store; 0: no slabs
  std::uint32_t slab_count = 0;

  std::uint32_t block_of_log() const { return log_block == 0 ? physical_block : log_block; }
  std::uint64_t slab_size() const { return std::uint64_t{slab_units} * unit; }
  // Precondition: slab < slab_count.
  std::uint64_t slab_offset(std::uint32_t slab) const { return first_slab + slab * slab_size(); }
  // Offset of unit `unit_index` of slab `slab`. Preconditions: both within the layout.
  std::uint64_t unit_offset(std::uint32_t slab, std::uint32_t unit_index) const {
    return slab_offset(slab) + std::uint64_t{unit_index} * unit;
  }
  // First byte after the last slab; up to the header at the tail nothing is used.
  std::uint64_t end() const { return first_slab + slab_count * slab_size(); }
  bool operator==(const DeviceLayout&) const = default;
};

struct LayoutRequest {
  DeviceRole role = DeviceRole::kData;
  std::uint64_t device_size = 0;
  std::uint32_t physical_block = 4096;
  std::uint32_t log_block = 0;  // as in DeviceLayout
  std::uint64_t unit = 4096;
  // Rounded up to area_alignment(); a log device needs some, a data device may not.
  std::uint64_t log_size = 0;
  // io::Geometry::piece. Log area and slabs begin at multiples of it where slabs are whole
  // multiples of it, and the device has many (has_pieces()). 0: one behind the other.
  std::uint64_t piece = 0;
  // Zones take one slab from each of their devices, so every data device of a store is laid out
  // with the same number: default_slab_units() of the
  // smallest.
  std::uint64_t slab_units = 0;
};

// Errors: kInvalidArgument (physical block, unit or slab size not legal; the hint names the nearest
// legal values), kNoSpace (the device cannot hold the log area and, on a data device, one slab).
Result<DeviceLayout> plan_layout(const LayoutRequest& request);

// DL1 for a request: the unit against the physical block of the data devices. Errors:
// kInvalidArgument with the nearest legal units in the hint.
Status check_unit(std::uint64_t unit, std::uint32_t physical_block);

// DL1 to DL4 for a layout that was read from a label: any input, 64-bit checked arithmetic.
// Errors: kCorruption.
Status check_layout(const DeviceLayout& layout, DeviceRole role);

// Units per slab when nobody chose: a 64th of the room between the two headers within [1 MiB, 1
// GiB], but never more than a 16th of it nor less than eight units, so that 1 MiB still has several
// slabs.
// Whole pieces, where the room has many; 0: of any length.
std::uint32_t default_slab_units(std::uint64_t room, std::uint64_t unit, std::uint64_t piece = 0);
// Whether so many bytes have room to leave between what begins at multiples of `piece`.
constexpr bool has_pieces(std::uint64_t bytes, std::uint64_t piece) {
  return piece > 0 && bytes / piece >= 64;
}
// Bytes between the two headers, for log area and slabs.
constexpr std::uint64_t room_of(std::uint64_t device_size) {
  return header_offset(DeviceEnd::kTail, device_size) - kHeadEnd;
}

}  // namespace hexad::alloc
