#include "core/blob/pack_stripe.h"

#include "base/checksum.h"
#include "base/codec.h"
#include "base/units.h"
#include "base/uuid_codec.h"
#include "core/record/sum_codec.h"

namespace hexad::core {

namespace {

constexpr std::uint32_t kMagic = 0x46505848;  // "HXPF"
// magic, crc, length of the body
constexpr std::uint32_t kTailSize = 12;
constexpr std::uint32_t kMaxVarint = 10;
// The uuid, and three numbers below 2^32.
constexpr std::uint32_t kMaxIdentity = 16 + 3 * 5;

std::uint32_t tail_crc(std::string_view body) {
  return static_cast<std::uint32_t>(checksum(ChecksumType::kCrc32c, as_bytes(body)));
}

// How a footer begins.
void encode_identity(Encoder& out, const Uuid& store, const alloc::Extent& where) {
  encode_uuid(out, store);
  alloc::encode_extent(out, where);
}

void encode_entry(Encoder& out, const PackEntry& entry) {
  out.varint(entry.cell);
  out.varint(entry.cell_offset / kPackAlignment);
  out.varint(entry.stored);
  out.varint(entry.lsn);
  out.varint(entry.offset);
  out.bytes(entry.owner);
}

// Bytes of the sums and the tail, which finish_footer() adds.
std::uint32_t footer_end(const RecordShape& shape) {
  return shape.k * checksum_size(shape.checksum) + kTailSize;
}

// `body`: the identity, the entries and their count. Returns the crc.
std::uint32_t finish_footer(std::string& body, const SumList& cell_sums, const RecordShape& shape) {
  HEXAD_ASSERT(cell_sums.size() == shape.k);
  Encoder out(body);
  encode_sums(out, cell_sums, shape.checksum);
  const std::uint32_t crc = tail_crc(body);
  const auto length = static_cast<std::uint32_t>(body.size());
  out.le32(kMagic);
  out.le32(crc);
  out.le32(length);
  return crc;
}

PackEntry decode_entry(Decoder& in, const RecordShape& shape) {
  PackEntry entry;
  entry.cell = static_cast<std::uint32_t>(in.varint_up_to(shape.k - 1));
  entry.cell_offset =
      static_cast<std::uint32_t>(in.varint_up_to(kMaxCellBytes / kPackAlignment)) * kPackAlignment;
  entry.stored = static_cast<std::uint32_t>(in.varint_up_to(kPageSpan));
  entry.lsn = in.varint();
  entry.offset = in.varint_up_to(kMaxObjectSize);
  entry.owner = in.bytes();
  if (entry.stored == 0 || entry.lsn == 0) in.fail();
  if (entry.owner.empty() || entry.owner.size() > kMaxKeySize) in.fail();
  return entry;
}

}  // namespace

std::uint32_t pack_footer_base(const RecordShape& shape) {
  return kMaxIdentity + kMaxVarint + footer_end(shape);
}

PlacementRules pack_rules(const StoreShape& shape, std::uint32_t max_pack_units) {
  PlacementRules rules;
  rules.k = shape.k();
  rules.cells = shape.cells();
  rules.unit = static_cast<std::uint32_t>(shape.unit);
  rules.max_pack_units = max_pack_units;
  rules.footer = pack_footer_base(shape.record);
  return rules;
}

std::uint32_t pack_footer_entry(const UnplacedBlob& blob) {
  // cell, offset, stored; LSN and offset in the object; the key
  return 3 * 5 + 2 * kMaxVarint + 2 + static_cast<std::uint32_t>(blob.owner.size());
}

std::string encode_pack_footer(const PackFooter& footer, const RecordShape& shape) {
  std::string body;
  Encoder out(body);
  encode_identity(out, footer.store, footer.where);
  out.varint(footer.entries.size());
  for (const PackEntry& entry : footer.entries) encode_entry(out, entry);
  finish_footer(body, footer.cell_sums, shape);
  return body;
}

std::optional<std::uint32_t> pack_footer_length(ByteView end) {
  if (end.size() < kTailSize) return std::nullopt;
  Decoder tail(as_text(end.last(kTailSize)));
  const std::uint32_t magic = tail.le32();
  tail.le32();
  const std::uint32_t length = tail.le32();
  if (magic != kMagic || length > kMaxCellBytes - kTailSize) return std::nullopt;
  return length + kTailSize;
}

Result<PackFooter> decode_pack_footer(ByteView cell, const RecordShape& shape) {
  const Error broken{ErrorCode::kCorruption, "a pack stripe without a legible footer",
                     "Run hexad fsck POOL --deep."};
  const std::optional<std::uint32_t> size = pack_footer_length(cell);
  if (!size.has_value() || *size > cell.size()) return broken;
  const ByteView body = cell.last(*size).first(*size - kTailSize);
  Decoder tail(as_text(cell.last(kTailSize).subspan(4)));
  const std::uint32_t crc = tail.le32();
  if (tail_crc(as_text(body)) != crc) return broken;

  Decoder in(as_text(body));
  PackFooter footer;
  footer.crc = crc;
  footer.length = *size;
  footer.store = decode_uuid(in);
  footer.where = alloc::decode_extent(in);
  const std::uint64_t count = in.count(7);
  std::uint32_t last_cell = 0;
  std::uint64_t free_from = 0;  // in that cell
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    PackEntry entry = decode_entry(in, shape);
    const bool in_last = entry.cell + 1 == shape.k;
    const std::uint64_t end = std::uint64_t{entry.cell_offset} + entry.stored;
    if (entry.cell > last_cell) free_from = 0;
    if (entry.cell < last_cell || entry.cell_offset < free_from ||
        end > cell.size() - (in_last ? footer.length : 0)) {
      in.fail();
    }
    last_cell = entry.cell;
    free_from = end;
    footer.entries.push_back(std::move(entry));
  }
  footer.cell_sums = decode_sums(in, shape.k, shape.checksum);
  HEXAD_TRY(in.finish("footer of a pack stripe"));
  return footer;
}

Result<PreparedBlob> build_pack(const PackPlan& plan, const std::vector<UnplacedBlob>& blobs,
                                const alloc::Extent& where, const StoreShape& shape,
                                const ec::Codec& codec) {
  HEXAD_ASSERT(where.units == plan.units);
  PreparedBlob prepared;
  Blob& blob = prepared.blob;
  blob.placement = Placement::kPacked;
  blob.cell_bytes = static_cast<std::uint32_t>(plan.units * shape.unit);
  prepared.units = plan.units;
  prepared.stride =
      static_cast<std::uint32_t>(round_up(blob.cell_bytes, AlignedBuffer::kAlignment));
  prepared.cells = AlignedBuffer(std::size_t{prepared.stride} * shape.cells());

  std::vector<MutByteView> cells;
  for (std::uint32_t role = 0; role < shape.cells(); ++role) {
    cells.push_back(
        prepared.cells.bytes().subspan(std::size_t{role} * prepared.stride, blob.cell_bytes));
  }
  std::string footer;
  Encoder out(footer);
  encode_identity(out, shape.uuid, where);
  out.varint(plan.slots.size());
  PackEntry entry;  // its memory serves all of them
  prepared.packed.resize(shape.k());
  std::vector<std::uint32_t> filled(shape.k(), 0);
  for (const PackPlan::Slot& slot : plan.slots) {
    const UnplacedBlob& unplaced = blobs[slot.item];
    const auto stored = static_cast<std::uint32_t>(unplaced.stored.size());
    const MutByteView cell = cells[slot.cell];
    fill_zero(cell.subspan(filled[slot.cell], slot.offset - filled[slot.cell]));
    copy_bytes(cell.subspan(slot.offset, stored), unplaced.stored.bytes());
    filled[slot.cell] = slot.offset + stored;
    blob.stored += stored;
    prepared.packed[slot.cell] += stored;
    entry.cell = slot.cell;
    entry.cell_offset = slot.offset;
    entry.stored = stored;
    entry.lsn = unplaced.place.lsn;
    entry.offset = unplaced.offset;
    entry.owner = unplaced.owner;
    encode_entry(out, entry);
  }
  for (std::uint32_t role = 0; role < shape.k(); ++role) {
    fill_zero(cells[role].subspan(filled[role]));
  }
  // The sums stand in front of the bytes that they do not cover: their length is known before.
  const std::size_t begin = blob.cell_bytes - footer.size() - footer_end(shape.record);
  HEXAD_ASSERT(begin >= filled.back() && begin < blob.cell_bytes);  // PP2
  SumList sums(shape.k());
  std::optional<std::uint64_t> zeros;  // the sum of a cell that nothing lies in
  for (std::uint32_t role = 0; role + 1 < shape.k(); ++role) {
    const bool empty = filled[role] == 0;
    sums[role] = empty && zeros.has_value() ? *zeros : checksum(shape.record.checksum, cells[role]);
    if (empty) zeros = sums[role];
  }
  sums.back() = checksum(shape.record.checksum, cells[shape.k() - 1].first(begin));
  prepared.footer = finish_footer(footer, sums, shape.record);
  copy_bytes(cells[shape.k() - 1].subspan(begin), as_bytes(footer));

  const std::vector<ByteView> data(cells.begin(), cells.begin() + shape.k());
  const std::vector<MutByteView> parity(cells.begin() + shape.k(), cells.end());
  HEXAD_TRY(codec.encode(data, parity));
  for (std::uint32_t role = 0; role < shape.cells(); ++role) {
    blob.cell_sums.push_back(role + 1 < shape.k() ? sums[role]
                                                  : checksum(shape.record.checksum, cells[role]));
  }
  return prepared;
}

}  // namespace hexad::core
