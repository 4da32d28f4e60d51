// Addresses inside the coded space. A zone is n = k+m slabs of equal size on n distinct devices; it
// has one numbering of units for all of them, so that one address names the n cells of a stripe.
// Unit 0 of every slab holds the slab header and is never allocated.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "base/codec.h"
#include "base/id.h"
#include "base/ids.h"

namespace hexad::alloc {

// Numbered by the store, never reused.
using ZoneId = Id<struct ZoneTag, std::uint32_t>;

// Most slabs a zone may have: slot numbers are one byte on disk.
inline constexpr std::uint32_t kMaxZoneSlots = 255;
// What to do, of errors that say that space has run out.
inline constexpr char kMakeRoom[] =
    "Delete objects, or add a device: hexad device add POOL PATH, with --failure-domain NAME where "
    "the others have one.";

// Where one slot of a zone lies: the `slab`-th slab of `device`.
struct ZoneSlot {
  DeviceId device = 0;
  std::uint32_t slab = 0;

  auto operator<=>(const ZoneSlot&) const = default;
};

// Units [unit, unit + units) of one slab; the zone is known from the context.
struct UnitRun {
  std::uint32_t unit = 0;
  std::uint32_t units = 0;

  // 64 bits wide: a run read from a device may end beyond 2^32.
  std::uint64_t end() const { return std::uint64_t{unit} + units; }
  auto operator<=>(const UnitRun&) const = default;
};

// The same units on all slabs of a zone: the address of a stripe. Each of its k+m cells is `units`
// units long. Twelve bytes, copied freely.
struct Extent {
  ZoneId zone = 0;
  std::uint32_t unit = 0;
  std::uint32_t units = 0;

  UnitRun run() const { return {unit, units}; }
  std::uint64_t end() const { return std::uint64_t{unit} + units; }
  auto operator<=>(const Extent&) const = default;
};

// "zone 17 units 40..55 (16)": the last unit is included.
std::string to_string(const Extent& extent);
// "device 3 slab 12".
std::string to_string(const ZoneSlot& slot);

// Three varints: zone, unit, units (doc/format.md, "Extent").
void encode_extent(Encoder& encoder, const Extent& extent);
// Fails the decoder when the extent is empty, begins with the header unit, or ends beyond 2^32.
// Whether the zone exists and is long enough is for the caller to check (ZoneSet does).
Extent decode_extent(Decoder& decoder);

}  // namespace hexad::alloc
