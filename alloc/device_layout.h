// Where things lie on a device: a pure function of its size and of what was chosen at mkfs.
//
//   0          16 KiB     32 KiB    48 KiB    64 KiB      (rounded up to a unit)
//   +----------+----------+---------+---------+-----------+--------+--------+-----+------+
//   | label 0  | label 1  | root 0  | root 1  | log area  | slab 0 | slab 1 | ... | rest |
//   +----------+----------+---------+---------+-----------+--------+--------+-----+------+
//
// Bytes: doc/format.md, "Device layout".
//
// Invariants, checked by check_layout()
//   DL1 the physical block is a power of two from 512 B to 16 KiB; the unit is a multiple of it
//   DL2 the log area and every slab start and end at multiples of the unit, hence never share a
//       physical block with a neighbour: a torn write cannot damage anybody else's bytes
//   DL3 header, log area and slabs follow one another without overlap and end within the device
//   DL4 a log device has a log area and no slabs
#pragma once

#include <cstdint>

#include "base/error.h"
#include "base/units.h"

namespace hexad::alloc {

// What a device is for. Values are on disk; never reused.
enum class DeviceRole : std::uint8_t { kData = 1, kLog = 2 };

std::string_view to_string(DeviceRole role);  // "data", "log"

inline constexpr std::uint64_t kHeaderSlotSize = 16_KiB;  // of a label copy, of a root slot
inline constexpr std::uint64_t kHeaderSize = 4 * kHeaderSlotSize;
inline constexpr std::uint32_t kMinPhysicalBlock = 512;
inline constexpr std::uint32_t kMaxPhysicalBlock = 16 << 10;
inline constexpr std::uint64_t kMaxUnit = 16_MiB;
// The header unit and at least one to allocate.
inline constexpr std::uint32_t kMinSlabUnits = 2;
// Bounds the bitmap of a zone (2 MiB) and thus what a decoder allocates.
inline constexpr std::uint32_t kMaxSlabUnits = 1 << 24;
inline constexpr std::uint32_t kMaxSlabs = 1 << 20;  // per device

constexpr std::uint64_t label_offset(unsigned copy) { return copy * kHeaderSlotSize; }
constexpr std::uint64_t root_offset(unsigned slot) { return (2 + slot) * kHeaderSlotSize; }

// All offsets and sizes in bytes from the start of the device.
struct DeviceLayout {
  std::uint64_t device_size = 0;  // as laid out; the device may be larger, never smaller
  std::uint32_t physical_block = 0;
  std::uint32_t unit = 0;  // min_alloc
  std::uint64_t log_offset = 0;
  std::uint64_t log_size = 0;    // 0: no log area
  std::uint64_t first_slab = 0;  // offset of slab 0, also when there is none
  std::uint32_t slab_units = 0;  // units per slab, equal on all devices of a store; 0: no slabs
  std::uint32_t slab_count = 0;

  std::uint64_t slab_size() const { return std::uint64_t{slab_units} * unit; }
  // Precondition: slab < slab_count.
  std::uint64_t slab_offset(std::uint32_t slab) const { return first_slab + slab * slab_size(); }
  // Offset of unit `unit_index` of slab `slab`. Preconditions: both within the layout.
  std::uint64_t unit_offset(std::uint32_t slab, std::uint32_t unit_index) const {
    return slab_offset(slab) + std::uint64_t{unit_index} * unit;
  }
  // First byte after the last slab; up to device_size nothing is used.
  std::uint64_t end() const { return first_slab + slab_count * slab_size(); }
  bool operator==(const DeviceLayout&) const = default;
};

struct LayoutRequest {
  DeviceRole role = DeviceRole::kData;
  std::uint64_t device_size = 0;
  std::uint32_t physical_block = 4096;
  std::uint64_t unit = 4096;
  std::uint64_t log_size =
      0;  // rounded up to a unit; a log device needs some, a data device may not
  // Zones take one slab from each of their devices, so every data device of a store is laid out
  // with the same number: default_slab_units() of the smallest.
  std::uint64_t slab_units = 0;
};

// Errors: kInvalidArgument (physical block, unit or slab size not legal; the hint names the nearest
// legal values), kNoSpace (the device cannot hold the log area and, on a data device, one slab).
Result<DeviceLayout> plan_layout(const LayoutRequest& request);

// DL1 for a request: the unit against the physical block. Errors: kInvalidArgument with the nearest
// legal units in the hint.
Status check_unit(std::uint64_t unit, std::uint32_t physical_block);

// DL1 to DL4 for a layout that was read from a label: any input, 64-bit checked arithmetic.
// Errors: kCorruption.
Status check_layout(const DeviceLayout& layout, DeviceRole role);

// Units per slab when nobody chose: a 64th of the device within [1 MiB, 1 GiB], but never more than
// a 16th of it nor less than eight units, so that a device of 1 MiB still has several slabs.
std::uint32_t default_slab_units(std::uint64_t device_size, std::uint64_t unit);

}  // namespace hexad::alloc
