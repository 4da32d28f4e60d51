// The first unit of every slab that belongs to a zone: which zone, which slot, and where the other
// slots are. Written once, when the zone is made, before the log record that names the zone; a
// zone can be found again from any of its slabs. Bytes: doc/format.md, "Slab header".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "alloc/device_layout.h"
#include "alloc/zone.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/ids.h"
#include "io/device.h"

namespace hexad::alloc {

struct SlabHeader {
  Uuid store;
  ZoneId zone = 0;
  std::uint8_t k = 0;
  std::uint8_t m = 0;
  std::uint8_t slot = 0;        // of this slab; slots[slot] is this slab
  std::uint32_t units = 0;      // per slab
  std::vector<ZoneSlot> slots;  // k + m, on distinct devices

  bool operator==(const SlabHeader&) const = default;
};

// 32 + 16 + 8 (k+m) bytes. Precondition: the comments above hold.
std::string encode_slab_header(const SlabHeader& header);
// Any input. Errors: kNotFound (no header here: the slab is free), kCorruption.
Result<SlabHeader> decode_slab_header(ByteView block);

// Writes at the start of the slab slots[slot].slab, padded with zeros to the physical block; not
// durable before the next flush. Errors: kInvalidArgument (the slab is not in the layout, or the
// header does not fit into a unit: the profile is too wide), those of the device.
Status write_slab_header(io::Device& device, const DeviceLayout& layout, const SlabHeader& header);
// Errors: as decode_slab_header(), kCorruption (the header is another slab's), kInvalidArgument (no
// such slab), those of the device.
Result<SlabHeader> read_slab_header(io::Device& device, const DeviceLayout& layout,
                                    std::uint32_t slab);

}  // namespace hexad::alloc
