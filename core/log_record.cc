#include "core/log_record.h"

#include <algorithm>

#include "alloc/device_layout.h"
#include "base/codec.h"

namespace hexad::core {
namespace {

constexpr std::uint8_t kLogRecordKind = 0x04;

constexpr std::uint32_t kSector = 512;              // unit of cell_bytes
constexpr std::uint32_t kMaxCellSectors = 4 << 11;  // 4 MiB
constexpr std::uint8_t kDurableBefore = 0x01;
constexpr std::uint8_t kHasSums = 0x02;
constexpr std::uint8_t kUnusedFlags = 0xfc;
constexpr std::uint64_t kMax32 = 0xffffffff;

// Signed numbers near 0 in few bytes: 0, -1, 1, -2, ... become 0, 1, 2, 3, ...
std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

void encode_image(Encoder& out, const PostImage& image) {
  HEXAD_ASSERT(!image.key.empty() && image.key.size() <= kMaxKeySize);
  out.bytes(image.key);
  out.varint(image.value.has_value() ? image.value->size() + 1 : 0);
  if (image.value.has_value()) out.raw(*image.value);
}

PostImage decode_image(Decoder& in) {
  PostImage image;
  const std::string_view key = in.bytes();
  if (key.empty() || key.size() > kMaxKeySize) in.fail();
  image.key = key;
  const std::uint64_t size = in.varint();
  if (size > 0) image.value = in.raw(size - 1);
  return image;
}

void encode_proof(Encoder& out, const StripeProof& proof, const RecordShape& shape) {
  HEXAD_ASSERT(proof.cell_bytes > 0 && proof.cell_bytes % kSector == 0);
  HEXAD_ASSERT(proof.cell_bytes / kSector <= kMaxCellSectors);
  const bool has_sums = !proof.cell_sums.empty();
  HEXAD_ASSERT(has_sums || proof.durable_before);
  HEXAD_ASSERT(!has_sums || proof.cell_sums.size() == shape.cells());
  std::uint8_t flags = proof.durable_before ? kDurableBefore : 0;
  if (has_sums) flags |= kHasSums;
  out.u8(flags);
  alloc::encode_extent(out, proof.where);
  out.varint(proof.cell_bytes / kSector);
  for (const std::uint64_t sum : proof.cell_sums) {
    if (checksum_size(shape.checksum) == 4) {
      HEXAD_ASSERT(sum <= kMax32);
      out.le32(static_cast<std::uint32_t>(sum));
    } else {
      out.le64(sum);
    }
  }
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
  for (std::uint32_t cell = 0; has_sums && cell < shape.cells() && in.ok(); ++cell) {
    proof.cell_sums.push_back(checksum_size(shape.checksum) == 4 ? in.le32() : in.le64());
  }
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

// A count, then the items; each takes at least `item_size` bytes. Stops at the first broken one.
template <typename T, typename DecodeItem>
std::vector<T> decode_list(Decoder& in, std::uint64_t item_size, DecodeItem decode_item) {
  std::vector<T> items;
  const std::uint64_t count = in.count(item_size);
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) items.push_back(decode_item());
  return items;
}

}  // namespace

std::string encode_log_record(const LogRecord& record, const RecordShape& shape) {
  std::string bytes;
  Encoder out(bytes);
  out.u8(kLogRecordKind);
  out.le64(static_cast<std::uint64_t>(record.time));
  out.varint(record.images.size());
  for (const PostImage& image : record.images) encode_image(out, image);
  out.varint(record.allocated.size());
  for (const StripeProof& proof : record.allocated) encode_proof(out, proof, shape);
  out.varint(record.freed.size());
  for (const alloc::Extent& extent : record.freed) alloc::encode_extent(out, extent);
  out.varint(record.live.size());
  for (const LiveChange& change : record.live) {
    alloc::encode_extent(out, change.where);
    out.varint(zigzag(change.bytes));
  }
  out.varint(record.zones.size());
  for (const ZoneCreation& zone : record.zones) encode_zone(out, zone, shape);
  return bytes;
}

Result<LogRecord> decode_log_record(std::string_view bytes, const RecordShape& shape) {
  Decoder in(bytes);
  LogRecord record;
  if (in.u8() != kLogRecordKind) in.fail();
  record.time = static_cast<std::int64_t>(in.le64());
  record.images = decode_list<PostImage>(in, 3, [&] { return decode_image(in); });
  record.allocated = decode_list<StripeProof>(in, 5, [&] { return decode_proof(in, shape); });
  record.freed = decode_list<alloc::Extent>(in, 3, [&] { return alloc::decode_extent(in); });
  record.live = decode_list<LiveChange>(in, 4, [&] {
    LiveChange change;
    change.where = alloc::decode_extent(in);
    change.bytes = unzigzag(in.varint());
    return change;
  });
  record.zones = decode_list<ZoneCreation>(in, 2 + 2 * std::uint64_t{shape.cells()},
                                           [&] { return decode_zone(in, shape); });
  HEXAD_TRY(in.finish("log record"));
  return record;
}

}  // namespace hexad::core
