// What a store consists of besides its log: the runs with its metadata, in order, and where they
// lie. Written by every checkpoint and merge, named by the root. doc/format.md#manifest
//
// Invariants, checked by check_manifest(), at encode (asserted) and at decode (kCorruption)
//   M1  a run holds the LSNs above its first_lsn and up to its last_lsn, at least one. The newest
//       run ends at the manifest's LSN, every other where the one before it in the list begins, and
//       the oldest begins at 0. So each LSN up to the manifest's is in exactly one run, and there
//       is no run only at LSN 0
//   M2  ids of runs are unique and below next_run, and tombstones are entries
//   M3  the file of a run is not empty and keeps H1 to H3 (core/runs/coded_file.h)
//   M4  no two runs share a unit
//   M5  every stripe lies in a zone of the table, behind the header unit and before its end. Zones
//       are sorted by id, each once; a zone has k+m slots on as many devices, and no slab is in two
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "alloc/zone.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/ids.h"
#include "core/record/record.h"
#include "core/runs/coded_file.h"

namespace hexad::core {

struct ManifestRun {
  std::uint64_t id = 0;
  Lsn first_lsn = 0;  // not in the run; the lowest in it is one more
  Lsn last_lsn = 0;
  std::uint64_t entries = 0;
  std::uint64_t tombstones = 0;  // of the entries
  std::uint32_t footer_crc = 0;
  CodedFile file;

  bool operator==(const ManifestRun&) const = default;
};

// A zone that a run lies in: so that runs can be read before any zone image is known.
struct ManifestZone {
  alloc::ZoneId zone = 0;
  std::uint32_t units = 0;  // per slab, the header's included
  std::vector<alloc::ZoneSlot> slots;

  bool operator==(const ManifestZone&) const = default;
};

struct Manifest {
  Uuid store;
  Lsn lsn = 0;      // the checkpoint's: the runs hold exactly the effects of LSNs up to it
  Epoch epoch = 0;  // in which it was written, from 1
  std::uint64_t next_run = 0;
  std::vector<ManifestZone> zones;  // by id
  std::vector<ManifestRun> runs;    // the newest first

  bool operator==(const Manifest&) const = default;
};

// Longest encoded manifest, bytes; bounds what reading one allocates.
inline constexpr std::uint64_t kMaxManifestBytes = 64 << 20;

// M1 to M5. Errors: kCorruption, naming run or zone.
Status check_manifest(const Manifest& manifest, const RecordShape& shape);

// Precondition (asserted): check_manifest() is ok.
std::string encode_manifest(const Manifest& manifest, const RecordShape& shape);
// Any input; the result passes check_manifest(). Memory: a small multiple of the input.
// Errors: kNotFound (no manifest here), kCorruption, kUnsupported (of a later version, or with a
// section that this one does not know and may not skip).
Result<Manifest> decode_manifest(ByteView bytes, const RecordShape& shape);

// All stripes of all runs.
std::vector<alloc::Extent> stripes_of(const Manifest& manifest);

}  // namespace hexad::core
