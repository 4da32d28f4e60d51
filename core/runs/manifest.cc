#include "core/runs/manifest.h"

#include <algorithm>
#include <set>
#include <utility>

#include "alloc/device_layout.h"
#include "base/codec.h"
#include "base/units.h"
#include "base/uuid_codec.h"
#include "core/record/extent_codec.h"

namespace hexad::core {

namespace {

constexpr std::string_view kMagic = "HEXADMAN";
constexpr std::uint32_t kVersion = 1;

// Values are on disk; never reused. Sections stand in ascending order.
constexpr std::uint8_t kZones = 1;
constexpr std::uint8_t kRuns = 2;
constexpr std::uint8_t kMaySkip = 0x80;  // set: a reader that does not know the kind passes over it

constexpr std::uint64_t kMax32 = 0xffffffff;
// Of a run without its pieces, encoded: bounds the count of runs by the bytes that are there.
constexpr std::uint64_t kMinRunBytes = 10;

Error broken(const std::string& message) {
  return Error{ErrorCode::kCorruption, "manifest: " + message, "Run hexad fsck POOL."};
}

std::string name(const ManifestRun& run) { return "run " + std::to_string(run.id); }

Status check_zones(const Manifest& manifest, const RecordShape& shape) {
  std::set<alloc::ZoneSlot> slabs;
  for (std::size_t i = 0; i < manifest.zones.size(); ++i) {
    const ManifestZone& zone = manifest.zones[i];
    const std::string subject = "zone " + std::to_string(zone.zone);
    if (i > 0 && manifest.zones[i - 1].zone >= zone.zone) {
      return broken(subject + " is not behind the zone before it");
    }
    if (zone.units < alloc::kMinSlabUnits || zone.units > alloc::kMaxSlabUnits) {
      return broken(subject + " has slabs of " + std::to_string(zone.units) + " units");
    }
    std::set<DeviceId> devices;
    for (const alloc::ZoneSlot& slot : zone.slots) {
      devices.insert(slot.device);
      if (!slabs.insert(slot).second) {
        return broken(subject + ": " + alloc::to_string(slot) + " is there twice");
      }
    }
    if (zone.slots.size() != shape.cells() || devices.size() != shape.cells()) {
      return broken(subject + " has " + std::to_string(zone.slots.size()) + " slots on " +
                    std::to_string(devices.size()) + " devices, stripes have " +
                    std::to_string(shape.cells()) + " cells");
    }
  }
  return {};
}

Status check_stripe(const alloc::Extent& stripe, const std::vector<ManifestZone>& zones) {
  const auto zone =
      std::lower_bound(zones.begin(), zones.end(), stripe.zone,
                       [](const ManifestZone& a, alloc::ZoneId id) { return a.zone < id; });
  if (zone != zones.end() && zone->zone == stripe.zone && stripe.unit > 0 &&
      stripe.end() <= zone->units) {
    return {};
  }
  return broken(alloc::to_string(stripe) + " is in no zone of the table");
}

Status check_runs(const Manifest& manifest, const RecordShape& shape) {
  std::set<std::uint64_t> ids;
  Lsn last = manifest.lsn;
  for (const ManifestRun& run : manifest.runs) {
    if (run.last_lsn != last || run.first_lsn >= run.last_lsn) {
      return broken(name(run) + " holds LSNs above " + std::to_string(run.first_lsn) + " to " +
                    std::to_string(run.last_lsn) + " where those up to " + std::to_string(last) +
                    " are next");  // M1
    }
    last = run.first_lsn;
    if (run.id >= manifest.next_run || !ids.insert(run.id).second) {
      return broken(name(run) + " is there twice, or not below " +
                    std::to_string(manifest.next_run));  // M2
    }
    if (run.tombstones > run.entries) {
      return broken(name(run) + " has more tombstones than entries");  // M2
    }
    if (run.file.bytes == 0) return broken(name(run) + " is empty");  // M3
    if (const Status file = check_file(run.file, shape); !file.ok()) {
      return file.error().with_context("manifest: " + name(run));  // M3
    }
    for (const Extent& piece : run.file.pieces) {
      HEXAD_TRY(check_stripe(piece.blob.where, manifest.zones));  // M5
    }
  }
  if (last != 0) {
    return broken("no run holds the LSNs up to " + std::to_string(last));  // M1
  }
  if (const Status apart = check_disjoint(stripes_of(manifest)); !apart.ok()) {
    return apart.error().with_context("manifest");  // M4
  }
  return {};
}

std::string encode_zones(const Manifest& manifest) {
  std::string body;
  Encoder out(body);
  out.varint(manifest.zones.size());
  for (const ManifestZone& zone : manifest.zones) {
    out.varint(zone.zone);
    out.varint(zone.units);
    for (const alloc::ZoneSlot& slot : zone.slots) {
      out.varint(slot.device);
      out.varint(slot.slab);
    }
  }
  return body;
}

std::vector<ManifestZone> decode_zones(Decoder& in, const RecordShape& shape) {
  std::vector<ManifestZone> zones;
  const std::uint64_t count = in.count(2 + std::uint64_t{2} * shape.cells());
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    ManifestZone& zone = zones.emplace_back();
    zone.zone = static_cast<alloc::ZoneId>(in.varint_up_to(kMax32));
    zone.units = static_cast<std::uint32_t>(in.varint_up_to(alloc::kMaxSlabUnits));
    for (std::uint32_t slot = 0; slot < shape.cells() && in.ok(); ++slot) {
      const auto device = static_cast<DeviceId>(in.varint_up_to(kMax32));
      zone.slots.push_back({device, static_cast<std::uint32_t>(in.varint_up_to(kMax32))});
    }
  }
  return zones;
}

// Page by page, as the data of objects is.
void encode_file(Encoder& out, const CodedFile& file, const RecordShape& shape) {
  out.varint(file.bytes);
  auto piece = file.pieces.begin();
  for (std::uint64_t page = 0; page < file.bytes; page += kPageSpan) {
    ExtentList extents;
    for (; piece != file.pieces.end() && piece->offset < page + kPageSpan; ++piece) {
      extents.push_back(*piece);
    }
    encode_extents(out, extents, page, shape);
  }
}

// May leave the decoder failed. Every page takes bytes, so their number is bounded.
Result<CodedFile> decode_file(Decoder& in, const RecordShape& shape) {
  CodedFile file;
  file.bytes = in.varint_up_to(kMaxObjectSize);
  for (std::uint64_t page = 0; page < file.bytes && in.ok(); page += kPageSpan) {
    HEXAD_TRY_ASSIGN(ExtentList extents, decode_extents(in, page, shape));
    for (Extent& extent : extents) file.pieces.push_back(std::move(extent));
  }
  return file;
}

std::string encode_runs(const Manifest& manifest, const RecordShape& shape) {
  std::string body;
  Encoder out(body);
  out.varint(manifest.runs.size());
  for (const ManifestRun& run : manifest.runs) {
    out.varint(run.id);
    out.varint(run.last_lsn - run.first_lsn);
    out.varint(run.entries);
    out.varint(run.tombstones);
    out.le32(run.footer_crc);
    encode_file(out, run.file, shape);
  }
  return body;
}

Result<std::vector<ManifestRun>> decode_runs(Decoder& in, Lsn lsn, const RecordShape& shape) {
  std::vector<ManifestRun> runs;
  const std::uint64_t count = in.count(kMinRunBytes);
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    ManifestRun& run = runs.emplace_back();
    run.id = in.varint();
    run.last_lsn = lsn;
    lsn -= in.varint_up_to(lsn);
    run.first_lsn = lsn;
    run.entries = in.varint();
    run.tombstones = in.varint();
    run.footer_crc = in.le32();
    HEXAD_TRY_ASSIGN(run.file, decode_file(in, shape));
  }
  return runs;
}

}  // namespace

std::vector<alloc::Extent> stripes_of(const Manifest& manifest) {
  std::vector<alloc::Extent> stripes;
  for (const ManifestRun& run : manifest.runs) {
    for (const Extent& piece : run.file.pieces) stripes.push_back(piece.blob.where);
  }
  return stripes;
}

Status check_manifest(const Manifest& manifest, const RecordShape& shape) {
  if (manifest.store.is_nil() || manifest.epoch == 0) return broken("of no store, or no epoch");
  HEXAD_TRY(check_zones(manifest, shape));
  return check_runs(manifest, shape);
}

std::string encode_manifest(const Manifest& manifest, const RecordShape& shape) {
  HEXAD_ASSERT(check_manifest(manifest, shape).ok());
  std::string bytes;
  Encoder out(bytes);
  out.raw(kMagic);
  out.le32(kVersion);
  out.le32(0);
  encode_uuid(out, manifest.store);
  out.le64(manifest.lsn);
  out.le64(manifest.epoch);
  out.le64(manifest.next_run);
  out.varint(2);
  out.u8(kZones);
  out.bytes(encode_zones(manifest));
  out.u8(kRuns);
  out.bytes(encode_runs(manifest, shape));
  return bytes;
}

Result<Manifest> decode_manifest(ByteView bytes, const RecordShape& shape) {
  Decoder in(bytes);
  if (in.raw(kMagic.size()) != kMagic) {
    return Error{ErrorCode::kNotFound, "no manifest is there", "Run hexad fsck POOL."};
  }
  if (const std::uint32_t version = in.le32(); in.ok() && version != kVersion) {
    return Error{ErrorCode::kUnsupported,
                 "the manifest has version " + std::to_string(version) + ", this program knows " +
                     std::to_string(kVersion),
                 "Open the store with a newer version."};
  }
  in.zeros(4);
  Manifest manifest;
  manifest.store = decode_uuid(in);
  manifest.lsn = in.le64();
  manifest.epoch = in.le64();
  manifest.next_run = in.le64();
  const std::uint64_t sections = in.count(2);
  std::uint8_t before = 0;
  std::set<std::uint8_t> seen;
  for (std::uint64_t i = 0; i < sections && in.ok(); ++i) {
    const std::uint8_t head = in.u8();
    const std::string_view body = in.bytes();
    const auto kind = static_cast<std::uint8_t>(head & ~kMaySkip);
    if (!in.ok() || kind <= before) {
      in.fail();
      break;
    }
    before = kind;
    Decoder section(body);
    if (head == kZones) {
      manifest.zones = decode_zones(section, shape);
    } else if (head == kRuns) {
      HEXAD_TRY_ASSIGN(manifest.runs, decode_runs(section, manifest.lsn, shape));
    } else if (kind == kZones || kind == kRuns) {
      in.fail();  // these may not be skipped
    } else if ((head & kMaySkip) != 0) {
      continue;
    } else {
      return Error{ErrorCode::kUnsupported,
                   "the manifest has a section of kind " + std::to_string(kind) +
                       ", which this program does not know",
                   "Open the store with a newer version."};
    }
    HEXAD_TRY(section.finish("a section of the manifest"));
    seen.insert(kind);
  }
  if (!seen.contains(kZones) || !seen.contains(kRuns)) in.fail();
  HEXAD_TRY(in.finish("manifest"));
  HEXAD_TRY(check_manifest(manifest, shape));
  return manifest;
}

}  // namespace hexad::core
