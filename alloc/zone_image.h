// A zone on disk: what is taken in it as of one LSN. Written by checkpoints, read at open; bytes:
// doc/format.md, "Zone image". Pure encoding; the living zone is in alloc/zone_set.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "alloc/zone.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/ids.h"

namespace hexad::alloc {

// Freed at `freed`, not yet reusable (R9).
struct DeferredFree {
  UnitRun run;
  Lsn freed = 0;
  Lsn born = 0;  // at most freed; 0: not known
  bool operator==(const DeferredFree&) const = default;
};

// Units whose cell was never written on `slot`, because its device had left (R13).
struct MissingRun {
  std::uint32_t slot = 0;
  UnitRun run;
  bool operator==(const MissingRun&) const = default;
};

// The pack stripe in `run`, and how many of its bytes are alive (never 0: then it is freed). It was
// published by the LSN `born`, or before. `footer`, a number of its writer's, tells its content
// from that of every other stripe that was there.
struct PackStripe {
  UnitRun run;
  std::uint64_t live = 0;  // bytes
  Lsn born = 0;
  std::uint32_t footer = 0;
  bool operator==(const PackStripe&) const = default;
};

// LSNs that lie further than this behind an image's own are as good as this far: so their size in
// it is bounded (core/space/reserve.h).
inline constexpr Lsn kMaxImageAge = Lsn{1} << 33;

struct ZoneImage {
  ZoneId zone = 0;
  std::vector<ZoneSlot> slots;
  Lsn lsn = 0;              // z: the effects of published LSNs <= z, and nothing else
  std::uint32_t units = 0;  // per slab, the header unit included
  // As UnitBitmap::words(). Set: taken, deferred units included. Unit 0 is always set.
  std::vector<std::uint64_t> bitmap;
  std::vector<DeferredFree> deferred;  // sorted by unit, disjoint, inside taken units, freed <= lsn
  std::vector<MissingRun> missing;     // sorted by slot and unit, disjoint, inside taken units
  // Sorted by unit, disjoint, in units neither free nor deferred, born <= lsn.
  std::vector<PackStripe> packs;

  bool operator==(const ZoneImage&) const = default;
};

// Precondition: the image keeps the comments above. The bitmap goes out raw or as run lengths,
// whichever is shorter.
std::string encode_zone_image(const ZoneImage& image);

// Any input; checks all that is said above. Memory: at most 2 MiB (kMaxSlabUnits bits) and a small
// multiple of the input. Errors: kNotFound (no zone image), kCorruption.
Result<ZoneImage> decode_zone_image(ByteView bytes);

}  // namespace hexad::alloc
