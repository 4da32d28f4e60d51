// Where the cells of a stripe are: the bridge between addresses in records and devices.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "alloc/zone.h"
#include "base/bytes.h"
#include "base/error.h"
#include "io/device.h"

namespace hexad::core {

struct CellPlace {
  DeviceId id = 0;
  io::Device* device = nullptr;  // null: not attached
  std::uint64_t offset = 0;      // bytes, of the cell's start on that device
  // The device is a live member and this cell was written to it: its bytes may be used.
  bool readable = false;
  // The device is a live member, and this cell was never written to it.
  bool missing = false;
  // The slab that this is in, and the slot of its zone: while it is there the place is this one.
  alloc::ZoneId zone = 0;
  std::uint32_t slot = 0;
  std::uint32_t slab = 0;

  bool operator==(const CellPlace&) const = default;
};

// What the metadata knows a pack stripe by.
struct PackIdentity {
  alloc::Extent where;       // all its units
  std::uint32_t footer = 0;  // crc of its footer, which names its content
};

class StripeMap {
 public:
  virtual ~StripeMap() = default;
  // The cells in role order, k+m of them. Any thread. Errors: kCorruption (no such zone, units out
  // of range).
  virtual Result<std::vector<CellPlace>> locate(const alloc::Extent& where) const = 0;
  // Of these, the one in `role`, which is below k+m: what a healthy read of few bytes asks for. The
  // same errors.
  virtual Result<CellPlace> locate_cell(const alloc::Extent& where, std::uint32_t role) const;
  // The pack stripe that begins at `where`, when its blobs are alive; nothing: they are not, or no
  // pack stripe is there. Any thread.
  virtual std::optional<PackIdentity> pack_stripe(const alloc::Extent& where) const = 0;
  // Whether heal() would write. What is not to be written need not be rebuilt. Any thread.
  virtual bool may_heal() const = 0;
  // A cell that could not be read or did not verify, with the bytes it should have: to be written
  // back where that is allowed. Never fails the read.
  virtual void heal(const CellPlace& place, ByteView cell) = 0;
};

inline Result<CellPlace> StripeMap::locate_cell(const alloc::Extent& where,
                                                std::uint32_t role) const {
  HEXAD_TRY_ASSIGN(const std::vector<CellPlace> places, locate(where));
  return places[role];
}

}  // namespace hexad::core
