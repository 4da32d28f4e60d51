#include "core/record/log_record.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "alloc/device_layout.h"
#include "base/codec.h"
#include "base/units.h"
#include "core/record/group_part.h"
#include "core/record/sum_codec.h"

namespace hexad::core {
namespace {

constexpr std::uint8_t kLogRecordKind = 0x04;
constexpr std::uint8_t kWithPatchesKind = 0x0c;  // some values are given as changes

constexpr std::uint32_t kSector = 512;  // unit of cell_bytes
constexpr std::uint32_t kMaxCellSectors = kMaxCellBytes / kSector;
constexpr std::uint8_t kDurableBefore = 0x01;
constexpr std::uint8_t kHasSums = 0x02;
constexpr std::uint8_t kIsPack = 0x04;
constexpr std::uint8_t kHasUnwritten = 0x08;
constexpr std::uint8_t kUnusedFlags = 0xf0;
constexpr std::uint64_t kMax32 = 0xffffffff;

// A count, then the items; each takes at least `item_size` bytes. Stops at the first broken one.
template <typename T, typename DecodeItem>
std::vector<T> decode_list(Decoder& in, std::uint64_t item_size, DecodeItem decode_item) {
  std::vector<T> items;
  const std::uint64_t count = in.count(item_size);
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) items.push_back(decode_item());
  return items;
}

// In the place of a value's length: there is none, or a patch.
constexpr std::uint64_t kGone = 0;
constexpr std::uint64_t kPatch = 1;  // where the record has any

void encode_patch(Encoder& out, const ImagePatch& patch) {
  out.le32(patch.base_crc);
  out.varint(patch.pieces.size());
  for (const PatchPiece& piece : patch.pieces) {
    out.varint(piece.keep);
    out.varint(piece.drop);
    out.bytes(piece.insert);
  }
}

ImagePatch decode_patch(Decoder& in) {
  ImagePatch patch;
  patch.base_crc = in.le32();
  patch.pieces = decode_list<PatchPiece>(in, 3, [&] {
    PatchPiece piece;
    piece.keep = static_cast<std::uint32_t>(in.varint_up_to(kMax32));
    piece.drop = static_cast<std::uint32_t>(in.varint_up_to(kMax32));
    piece.insert = in.bytes();
    return piece;
  });
  return patch;
}

bool has_patch(const PostImage& image) { return image.patch.has_value(); }

void encode_image(Encoder& out, const PostImage& image, bool with_patches) {
  HEXAD_ASSERT(!image.key.empty() && image.key.size() <= kMaxForwardKeySize);
  out.bytes(image.key);
  if (image.patch.has_value()) {
    out.varint(kPatch);
    encode_patch(out, *image.patch);
    return;
  }
  out.varint(image.value.has_value() ? image.value->size() + (with_patches ? 2 : 1) : kGone);
  if (image.value.has_value()) out.raw(*image.value);
}

PostImage decode_image(Decoder& in, bool with_patches) {
  PostImage image;
  const std::string_view key = in.bytes();
  if (key.empty() || key.size() > kMaxForwardKeySize) in.fail();
  image.key = key;
  const std::uint64_t size = in.varint();
  if (size == kGone) return image;
  if (!with_patches) {
    image.value = in.raw(size - 1);
  } else if (size != kPatch) {
    image.value = in.raw(size - 2);
  } else {
    image.patch = decode_patch(in);
  }
  return image;
}

void encode_proof(Encoder& out, const StripeProof& proof, const RecordShape& shape) {
  HEXAD_ASSERT(proof.cell_bytes > 0 && proof.cell_bytes % kSector == 0);
  HEXAD_ASSERT(proof.cell_bytes / kSector <= kMaxCellSectors);
  const bool has_sums = !proof.cell_sums.empty();
  HEXAD_ASSERT(has_sums || proof.durable_before);
  HEXAD_ASSERT(!has_sums || proof.cell_sums.size() == shape.cells());
  HEXAD_ASSERT(proof.live <= std::uint64_t{proof.cell_bytes} * shape.k);
  std::uint8_t flags = proof.durable_before ? kDurableBefore : 0;
  if (has_sums) flags |= kHasSums;
  HEXAD_ASSERT(proof.unwritten >> shape.cells() == 0);
  HEXAD_ASSERT(static_cast<std::uint32_t>(std::popcount(proof.unwritten)) <= shape.m);
  if (proof.live > 0) flags |= kIsPack;
  if (proof.unwritten != 0) flags |= kHasUnwritten;
  out.u8(flags);
  alloc::encode_extent(out, proof.where);
  out.varint(proof.cell_bytes / kSector);
  if (proof.live > 0) {
    out.varint(proof.live);
    out.le32(proof.footer);
  }
  if (proof.unwritten != 0) out.varint(proof.unwritten);
  encode_sums(out, proof.cell_sums, shape.checksum);
}

StripeProof decode_proof(Decoder& in, const RecordShape& shape) {
  StripeProof proof;
  const std::uint8_t flags = in.u8();
  const bool has_sums = (flags & kHasSums) != 0;
  proof.durable_before = (flags & kDurableBefore) != 0;
  if ((flags & kUnusedFlags) != 0 || !(has_sums || proof.durable_before)) in.fail();
  proof.where = alloc::decode_extent(in);
  proof.cell_bytes = static_cast<std::uint32_t>(in.varint_up_to(kMaxCellSectors)) * kSector;
  if (proof.cell_bytes == 0) in.fail();
  if ((flags & kIsPack) != 0) {
    proof.live = in.varint_up_to(std::uint64_t{proof.cell_bytes} * shape.k);
    if (proof.live == 0) in.fail();
    proof.footer = in.le32();
  }
  if ((flags & kHasUnwritten) != 0) {
    proof.unwritten = in.varint_up_to((std::uint64_t{1} << shape.cells()) - 1);
    if (proof.unwritten == 0 ||
        static_cast<std::uint32_t>(std::popcount(proof.unwritten)) > shape.m) {
      in.fail();
    }
  }
  if (has_sums) proof.cell_sums = decode_sums(in, shape.cells(), shape.checksum);
  return proof;
}

void encode_zone(Encoder& out, const ZoneCreation& zone, const RecordShape& shape) {
  HEXAD_ASSERT(zone.units >= alloc::kMinSlabUnits && zone.units <= alloc::kMaxSlabUnits);
  HEXAD_ASSERT(zone.slots.size() == shape.cells());
  out.varint(zone.zone);
  out.varint(zone.units);
  for (const alloc::ZoneSlot& slot : zone.slots) {
    HEXAD_ASSERT(slot.slab < alloc::kMaxSlabs);
    out.varint(slot.device);
    out.varint(slot.slab);
  }
}

ZoneCreation decode_zone(Decoder& in, const RecordShape& shape) {
  ZoneCreation zone;
  zone.zone = static_cast<std::uint32_t>(in.varint_up_to(kMax32));
  zone.units = static_cast<std::uint32_t>(in.varint_up_to(alloc::kMaxSlabUnits));
  if (zone.units < alloc::kMinSlabUnits) in.fail();
  for (std::uint32_t i = 0; i < shape.cells() && in.ok(); ++i) {
    alloc::ZoneSlot slot;
    slot.device = static_cast<DeviceId>(in.varint_up_to(kMax32));
    slot.slab = static_cast<std::uint32_t>(in.varint_up_to(alloc::kMaxSlabs - 1));
    const auto same_device = [&](const alloc::ZoneSlot& other) {
      return other.device == slot.device;
    };
    if (std::any_of(zone.slots.begin(), zone.slots.end(), same_device)) in.fail();
    zone.slots.push_back(slot);
  }
  return zone;
}

void encode_log_place(Encoder& out, const LogPlace& place) {
  out.varint(place.lsn);
  out.varint(place.index);
}

LogPlace decode_log_place(Decoder& in) {
  LogPlace place;
  place.lsn = in.varint();
  place.index = static_cast<std::uint32_t>(in.varint_up_to(kMax32));
  if (place.lsn == 0) in.fail();
  return place;
}

void encode_place(Encoder& out, const UnplacedPlace& place, const RecordShape& shape) {
  encode_log_place(out, place.from);
  out.u8(static_cast<std::uint8_t>(place.placement));
  out.varint(place.stored);
  if (place.placement == Placement::kPacked) {
    HEXAD_ASSERT(place.where.units == 0 && place.cell < shape.k);
    HEXAD_ASSERT(place.cell_offset % kPackAlignment == 0);
    out.varint(place.where.zone);
    out.varint(place.where.unit);
    out.varint(place.cell);
    out.varint(place.cell_offset / kPackAlignment);
    return;
  }
  HEXAD_ASSERT(place.placement == Placement::kPrivate && place.cell_bytes % kSector == 0);
  HEXAD_ASSERT(place.cell_sums.size() == shape.cells());
  HEXAD_ASSERT(place.block_sums.size() == shape.private_block_sums(place.cell_bytes));
  alloc::encode_extent(out, place.where);
  out.varint(place.cell_bytes / kSector);
  encode_sums(out, place.cell_sums, shape.checksum);
  encode_sums(out, place.block_sums, shape.checksum);
}

UnplacedPlace decode_place(Decoder& in, const RecordShape& shape) {
  UnplacedPlace place;
  place.from = decode_log_place(in);
  const std::uint8_t placement = in.u8();
  place.stored = static_cast<std::uint32_t>(in.varint_up_to(kPageSpan));
  if (place.stored == 0) in.fail();
  if (placement == static_cast<std::uint8_t>(Placement::kPacked)) {
    place.where.zone = static_cast<std::uint32_t>(in.varint_up_to(kMax32));
    place.where.unit = static_cast<std::uint32_t>(in.varint_up_to(kMax32));
    place.cell = static_cast<std::uint32_t>(in.varint_up_to(shape.k - 1));
    place.cell_offset =
        static_cast<std::uint32_t>(in.varint_up_to(kMaxCellBytes / kPackAlignment)) *
        kPackAlignment;
    return place;  // whether it lies in its stripe: places_fit()
  }
  if (placement != static_cast<std::uint8_t>(Placement::kPrivate)) in.fail();
  place.placement = Placement::kPrivate;
  place.where = alloc::decode_extent(in);
  place.cell_bytes = static_cast<std::uint32_t>(in.varint_up_to(kMaxCellSectors)) * kSector;
  // EB3 in extent_codec.h: a record that names this place has to be one that can be written.
  const std::uint64_t needed = divide_up(place.stored, shape.k);
  if (place.cell_bytes < needed || place.cell_bytes >= needed + alloc::kMaxPhysicalBlock) in.fail();
  if (!in.ok()) return place;
  place.cell_sums = decode_sums(in, shape.cells(), shape.checksum);
  place.block_sums = decode_sums(in, shape.private_block_sums(place.cell_bytes), shape.checksum);
  return place;
}

// All but its bytes, which come behind it.
void encode_payload_head(Encoder& out, const UnplacedPayload& payload) {
  HEXAD_ASSERT(!payload.owner.empty() && payload.owner.size() <= kMaxKeySize);
  HEXAD_ASSERT(!payload.bytes.empty() && payload.bytes.size() <= kPageSpan);
  encode_log_place(out, payload.place);
  out.bytes(payload.owner);
  out.varint(payload.offset);
  out.varint(payload.bytes.size());
}

UnplacedPayload decode_payload(Decoder& in) {
  UnplacedPayload payload;
  payload.place = decode_log_place(in);
  payload.owner = in.bytes();
  payload.offset = in.varint_up_to(kMaxObjectSize);
  payload.bytes = in.bytes();
  if (payload.owner.empty() || payload.owner.size() > kMaxKeySize) in.fail();
  if (payload.bytes.empty() || payload.bytes.size() > kPageSpan) in.fail();
  return payload;
}

using StripeStart = std::pair<alloc::ZoneId, std::uint32_t>;  // zone, first unit

bool is_private_at(const UnplacedPlace& place, const StripeProof& proof) {
  return place.placement == Placement::kPrivate && proof.live == 0 && place.where == proof.where &&
         place.cell_bytes == proof.cell_bytes &&
         (proof.cell_sums.empty() || proof.cell_sums == place.cell_sums);
}

StripeStart start_of(const alloc::Extent& where) { return {where.zone, where.unit}; }

// By stripe, cell and offset.
auto begin_of(const UnplacedPlace& place) {
  return std::make_tuple(start_of(place.where), place.cell, place.cell_offset);
}

// Sorts the list by what `key` says of its items; false when it says the same of two.
template <typename T, typename Key>
bool sort_and_differ(std::vector<T>& list, Key key) {
  std::sort(list.begin(), list.end(), [&](const T& a, const T& b) { return key(a) < key(b); });
  return std::adjacent_find(list.begin(), list.end(),
                            [&](const T& a, const T& b) { return key(a) == key(b); }) == list.end();
}

// Whether the part agrees with itself: every unplaced blob is in it once; each has its place in a
// stripe that the part allocates, beside the others; no stripe is without, and the live bytes of a
// pack stripe are those of the blobs in it.
bool is_consistent(const GroupPart& group) {
  // As for a lone small write: one payload stands beside nothing else.
  if (group.payloads.size() < 2 && group.placed.empty() && group.allocated.empty()) return true;
  std::vector<LogPlace> blobs;
  blobs.reserve(group.payloads.size() + group.placed.size());
  std::vector<const UnplacedPlace*> places;
  places.reserve(group.placed.size());
  for (const UnplacedPayload& payload : group.payloads) blobs.push_back(payload.place);
  for (const UnplacedPlace& place : group.placed) {
    blobs.push_back(place.from);
    places.push_back(&place);
  }
  std::vector<const StripeProof*> stripes;
  stripes.reserve(group.allocated.size());
  for (const StripeProof& proof : group.allocated) stripes.push_back(&proof);
  if (!sort_and_differ(blobs, [](const LogPlace& blob) { return blob; }) ||
      !sort_and_differ(places, [](const UnplacedPlace* place) { return begin_of(*place); }) ||
      !sort_and_differ(stripes, [](const StripeProof* proof) { return start_of(proof->where); })) {
    return false;
  }
  auto at = places.begin();
  for (const StripeProof* const proof : stripes) {
    const StripeStart start = start_of(proof->where);
    std::uint64_t total = 0;      // bytes
    std::uint32_t cell = 0;       // the last one looked at,
    std::uint64_t free_from = 0;  // and where its last blob ends
    for (; at != places.end() && start_of((*at)->where) == start; ++at) {
      const UnplacedPlace& place = **at;
      total += place.stored;
      if (proof->live == 0) {
        if (!is_private_at(place, *proof)) return false;
        continue;
      }
      if (place.cell != cell) free_from = 0;
      cell = place.cell;
      if (place.placement != Placement::kPacked || place.cell_offset < free_from) return false;
      free_from = std::uint64_t{place.cell_offset} + place.stored;
      if (free_from > proof->cell_bytes) return false;
    }
    if (total == 0 || (proof->live > 0 && proof->live != total)) return false;
  }
  return at == places.end();
}

// Bytes to have ready for what is encoded: mostly enough, and no promise.
constexpr std::size_t kNumbersOfOne = 32;
std::size_t own_part_guess(const LogRecord& record) {
  std::size_t bytes = kNumbersOfOne;
  for (const PostImage& image : record.images) {
    bytes += 8 + image.key.size();
    if (image.patch.has_value()) {
      bytes += kNumbersOfOne;
      for (const PatchPiece& piece : image.patch->pieces) bytes += 8 + piece.insert.size();
    } else if (image.value.has_value()) {
      bytes += image.value->size();
    }
  }
  return bytes + 2 * kNumbersOfOne * record.allocated.size() + 16 * record.freed.size() +
         12 * (record.packed_releases.size() + record.unplaced_releases.size());
}

}  // namespace

void add_release(LogRecord& record, const Blob& blob) {
  switch (blob.placement) {
    case Placement::kPrivate:
      record.freed.push_back(blob.where);
      return;
    case Placement::kPacked:
      record.packed_releases.push_back({blob.where.zone, blob.where.unit, blob.stored});
      return;
    case Placement::kLog:
      record.unplaced_releases.push_back(blob.log);
      return;
  }
}

std::string encode_own_part(const LogRecord& record, const RecordShape& shape) {
  std::string bytes;
  bytes.reserve(own_part_guess(record));
  Encoder out(bytes);
  const bool with_patches = std::any_of(record.images.begin(), record.images.end(), has_patch);
  out.u8(with_patches ? kWithPatchesKind : kLogRecordKind);
  out.le64(static_cast<std::uint64_t>(record.time));
  out.varint(record.images.size());
  for (const PostImage& image : record.images) encode_image(out, image, with_patches);
  out.varint(record.allocated.size());
  for (const StripeProof& proof : record.allocated) encode_proof(out, proof, shape);
  out.varint(record.freed.size());
  for (const alloc::Extent& extent : record.freed) alloc::encode_extent(out, extent);
  out.varint(record.packed_releases.size());
  for (const PackedRelease& release : record.packed_releases) {
    HEXAD_ASSERT(release.unit > 0 && release.bytes > 0);
    out.varint(release.zone);
    out.varint(release.unit);
    out.varint(release.bytes);
  }
  out.varint(record.unplaced_releases.size());
  for (const LogPlace& release : record.unplaced_releases) encode_log_place(out, release);
  out.varint(record.zones.size());
  for (const ZoneCreation& zone : record.zones) encode_zone(out, zone, shape);
  return bytes;
}

void append_group_part(const GroupPart& group, const RecordShape& shape, CutGroupParts& parts) {
  HEXAD_ASSERT(is_consistent(group));
  Encoder out(parts.bytes);
  out.varint(group.allocated.size());
  for (const StripeProof& proof : group.allocated) encode_proof(out, proof, shape);
  out.varint(group.placed.size());
  for (const UnplacedPlace& place : group.placed) encode_place(out, place, shape);
  out.varint(group.payloads.size());
  for (const UnplacedPayload& payload : group.payloads) {
    encode_payload_head(out, payload);
    parts.places.push_back(out.size());
  }
  parts.places.push_back(out.size());
}

std::string encode_group_part(const GroupPart& group, const RecordShape& shape) {
  CutGroupParts parts;
  parts.bytes.reserve(kNumbersOfOne * (1 + group.allocated.size() + group.placed.size()));
  append_group_part(group, shape, parts);
  if (group.payloads.empty()) return std::move(parts.bytes);
  std::string bytes;
  std::size_t from = 0;
  for (std::size_t i = 0; i < group.payloads.size(); ++i) {
    bytes.append(parts.bytes, from, parts.places[i] - from);
    bytes += group.payloads[i].bytes;
    from = parts.places[i];
  }
  bytes.append(parts.bytes, from);
  return bytes;
}

std::string encode_log_record(const LogRecord& record, const RecordShape& shape) {
  return encode_own_part(record, shape) + encode_group_part(record.group, shape);
}

std::uint64_t group_part_bound(std::uint64_t stored, const RecordShape& shape) {
  // Seven varints of the place; five, the flags and the footer's crc of its proof; the sums of
  // both.
  constexpr std::uint64_t kNumbers = 12 * 10 + 12;
  const std::uint64_t cell = round_up(divide_up(stored, shape.k), alloc::kMaxPhysicalBlock);
  const std::uint64_t sums =
      2 * shape.cells() + shape.private_block_sums(static_cast<std::uint32_t>(cell));
  return kNumbers + sums * checksum_size(shape.checksum);
}

Result<LogRecord> decode_log_record(std::string_view bytes, const RecordShape& shape) {
  Decoder in(bytes);
  LogRecord record;
  const std::uint8_t kind = in.u8();
  const bool with_patches = kind == kWithPatchesKind;
  if (kind != kLogRecordKind && !with_patches) in.fail();
  record.time = static_cast<std::int64_t>(in.le64());
  record.images = decode_list<PostImage>(in, 3, [&] { return decode_image(in, with_patches); });
  if (with_patches && std::none_of(record.images.begin(), record.images.end(), has_patch))
    in.fail();
  record.allocated = decode_list<StripeProof>(in, 5, [&] { return decode_proof(in, shape); });
  record.freed = decode_list<alloc::Extent>(in, 3, [&] { return alloc::decode_extent(in); });
  record.packed_releases = decode_list<PackedRelease>(in, 3, [&] {
    PackedRelease release;
    release.zone = static_cast<std::uint32_t>(in.varint_up_to(kMax32));
    release.unit = static_cast<std::uint32_t>(in.varint_up_to(kMax32));
    release.bytes = static_cast<std::uint32_t>(in.varint_up_to(kPageSpan));
    if (release.unit == 0 || release.bytes == 0) in.fail();
    return release;
  });
  record.unplaced_releases = decode_list<LogPlace>(in, 2, [&] { return decode_log_place(in); });
  record.zones = decode_list<ZoneCreation>(in, 2 + 2 * std::uint64_t{shape.cells()},
                                           [&] { return decode_zone(in, shape); });
  GroupPart& group = record.group;
  group.allocated = decode_list<StripeProof>(in, 5, [&] { return decode_proof(in, shape); });
  group.placed = decode_list<UnplacedPlace>(in, 8, [&] { return decode_place(in, shape); });
  group.payloads = decode_list<UnplacedPayload>(in, 7, [&] { return decode_payload(in); });
  if (in.ok() && !is_consistent(group)) in.fail();
  HEXAD_TRY(in.finish("log record"));
  return record;
}

}  // namespace hexad::core
