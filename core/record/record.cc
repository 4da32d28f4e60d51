#include "core/record/record.h"

#include <algorithm>

#include "base/codec.h"
#include "base/units.h"
#include "core/record/extent_codec.h"
#include "core/record/object_head.h"
#include "core/record/page_code.h"

namespace hexad::core {
namespace {

// First byte of every value: what it is and in which version of its encoding. Never reused; those
// of objects are in object_head.h, those of pages in page_code.h.
constexpr std::uint8_t kCollectionKind = 0x03;
constexpr std::uint8_t kTotalsKind = 0x07;
constexpr std::uint8_t kOwnersKind = 0x08;
constexpr std::uint8_t kHiddenEntryKind = 0x09;
constexpr std::uint8_t kPartedCollectionKind = 0x0a;  // with its parts
constexpr std::uint8_t kDeletionEndKind = 0x0b;
constexpr std::uint8_t kCutsKind = 0x0e;

// Hints about compression stand in the flags, the others behind the time.
constexpr unsigned kMoreHintsShift = 2;
constexpr std::uint16_t kCompressionHints = 0x03;

constexpr std::uint64_t kMax32 = 0xffffffff;

// The sizes of all names and values; what kMaxAttributeBytes bounds.
std::uint64_t attribute_bytes(const Attributes& attributes) {
  std::uint64_t total = 0;
  for (const auto& [name, value] : attributes) total += name.size() + value.size();
  return total;
}

void encode_attributes(Encoder& out, const Attributes& attributes) {
  HEXAD_ASSERT(attribute_bytes(attributes) <= kMaxAttributeBytes);
  out.varint(attributes.size());
  for (const auto& [name, value] : attributes) {
    HEXAD_ASSERT(!name.empty() && name.size() <= kMaxAttributeName);
    out.bytes(name);
    out.bytes(value);
  }
}

Attributes decode_attributes(Decoder& in) {
  Attributes attributes;
  const std::uint64_t count = in.count(3);
  if (count == 0) in.fail();  // none has no flag
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    const std::string_view name = in.bytes();
    const std::string_view value = in.bytes();
    const bool ascending = attributes.empty() || attributes.rbegin()->first < name;
    if (name.empty() || name.size() > kMaxAttributeName || !ascending) in.fail();
    if (in.ok()) attributes.emplace_hint(attributes.end(), name, value);
  }
  if (attribute_bytes(attributes) > kMaxAttributeBytes) in.fail();
  return attributes;
}

void encode_body_id(Encoder& out, BodyId id) {
  out.varint(id >> 32);
  out.varint(id & kMax32);
}

BodyId decode_body_id(Decoder& in) {
  const BodyId high = in.varint_up_to(kMax32);
  const BodyId id = high << 32 | in.varint_up_to(kMax32);
  if (id == 0) in.fail();  // none has no flag
  return id;
}

std::vector<OmapId> decode_layers(Decoder& in, OmapId own) {
  std::vector<OmapId> layers;
  const std::uint64_t count = in.varint_up_to(kMaxOmapLayers);
  if (count == 0) in.fail();  // none has no flag
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    const OmapId layer = decode_body_id(in);
    const bool again = std::find(layers.begin(), layers.end(), layer) != layers.end();
    if (again || layer == own) in.fail();
    layers.push_back(layer);
  }
  return layers;
}

void encode_cuts(Encoder& out, const PageCuts& cuts) {
  HEXAD_ASSERT(is_well_formed(cuts) && cuts.size() <= kMaxPageCuts);
  out.varint(cuts.size());
  std::uint32_t previous_end = 0;
  for (const PageRange& cut : cuts) {
    out.varint(cut.from - previous_end);
    out.varint(cut.end - cut.from);
    previous_end = cut.end;
  }
}

PageCuts decode_cuts(Decoder& in) {
  PageCuts cuts;
  const std::uint64_t count = in.varint_up_to(kMaxPageCuts);
  if (count == 0) in.fail();  // none has another kind
  std::uint64_t previous_end = 0;
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    const std::uint64_t gap = in.varint_up_to(kEndOfPages);
    const std::uint64_t pages = in.varint_up_to(kEndOfPages);
    const std::uint64_t from = previous_end + gap;
    previous_end = from + pages;
    if ((gap == 0 && i > 0) || pages == 0 || previous_end > kEndOfPages) in.fail();
    cuts.push_back({static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(previous_end)});
  }
  return cuts;
}

}  // namespace

bool any_unplaced(const ExtentList& extents) {
  return std::any_of(extents.begin(), extents.end(), [](const Extent& extent) {
    return !extent.is_inline() && extent.blob.placement == Placement::kLog;
  });
}

std::uint64_t RecordShape::private_block_sums(std::uint32_t cell_bytes) const {
  return cell_bytes <= checksum_block ? 0 : k * divide_up(cell_bytes, checksum_block);
}

std::uint64_t RecordShape::packed_block_sums(std::uint32_t stored) const {
  return stored <= checksum_block ? 0 : divide_up(stored, checksum_block);
}

std::string encode_object(const ObjectRecord& record, const RecordShape& shape) {
  HEXAD_ASSERT(record.size <= kMaxObjectSize && is_valid(static_cast<Hint>(record.hint)));
  HEXAD_ASSERT(record.body == 0 || record.extents.empty());
  HEXAD_ASSERT(record.body != 0 || record.cuts.empty());
  HEXAD_ASSERT(record.extents.empty() || record.extents.back().end() <= record.size);
  std::string value;
  Encoder out(value);
  out.u8(record.cuts.empty() ? kObjectKind : kCutObjectKind);
  auto flags = static_cast<std::uint8_t>((record.hint & kCompressionHints) << kHintShift);
  const unsigned more_hints = record.hint >> kMoreHintsShift;
  if (!record.attributes.empty()) flags |= kHasAttributes;
  if (record.body != 0) flags |= kIsPaged;
  if (any_unplaced(record.extents)) flags |= kHasUnplaced;
  if (more_hints != 0) flags |= kHasMoreHints;
  if (record.omap != 0) flags |= kHasOmap;
  if (!record.layers.empty()) flags |= kHasLayers;
  out.u8(flags);
  out.varint(record.version);
  out.varint(record.size);
  out.le64(static_cast<std::uint64_t>(record.mtime));
  if (more_hints != 0) out.varint(more_hints);
  if (!record.attributes.empty()) encode_attributes(out, record.attributes);
  if (record.omap != 0) encode_body_id(out, record.omap);
  if (!record.layers.empty()) {
    HEXAD_ASSERT(record.layers.size() <= kMaxOmapLayers);
    out.varint(record.layers.size());
    for (const OmapId layer : record.layers) encode_body_id(out, layer);
  }
  if (record.body != 0) {
    encode_body_id(out, record.body);
    if (!record.cuts.empty()) encode_cuts(out, record.cuts);
  } else {
    encode_extents(out, record.extents, 0, shape);
  }
  return value;
}

Result<ObjectRecord> decode_object(std::string_view value, const RecordShape& shape) {
  ObjectRecord record;
  HEXAD_TRY(decode_object(value, shape, record));
  return record;
}

Status decode_object(std::string_view value, const RecordShape& shape, ObjectRecord& record) {
  Decoder in(value);
  const ObjectHead head = decode_head(in);
  record.version = head.summary.version;
  record.size = head.summary.size;
  record.mtime = static_cast<std::int64_t>(in.le64());
  record.hint = head.summary.compression_hint;
  if ((head.flags & kHasMoreHints) != 0) {
    const std::uint64_t more = in.varint_up_to(0xff);
    if (more == 0) in.fail();  // none has no flag
    record.hint |= static_cast<std::uint16_t>(more << kMoreHintsShift);
  }
  if (!is_valid(static_cast<Hint>(record.hint))) in.fail();
  if ((head.flags & kHasAttributes) != 0) record.attributes = decode_attributes(in);
  if ((head.flags & kHasOmap) != 0) record.omap = decode_body_id(in);
  if ((head.flags & kHasLayers) != 0) record.layers = decode_layers(in, record.omap);
  HEXAD_TRY(in.check("object record"));
  if ((head.flags & kIsPaged) != 0) {
    record.body = decode_body_id(in);
    if (head.has_cuts) record.cuts = decode_cuts(in);
  } else {
    HEXAD_TRY(decode_extents(in, 0, shape, record.extents));
    if (!record.extents.empty() && record.extents.back().end() > record.size) in.fail();
  }
  if (any_unplaced(record.extents) != ((head.flags & kHasUnplaced) != 0)) in.fail();
  return in.finish("object record");
}

std::uint8_t page_kind(const ExtentList& extents) {
  return any_unplaced(extents) ? kUnplacedPageKind : kPageKind;
}

std::string encode_page(const ExtentList& extents, const RecordShape& shape) {
  const std::uint64_t start = extents.empty() ? 0 : round_down(extents.front().offset, kPageSpan);
  std::string value;
  Encoder out(value);
  out.u8(page_kind(extents));
  encode_extents(out, extents, start, shape);
  return value;
}

Result<ExtentList> decode_page(std::string_view value, std::uint32_t page,
                               const RecordShape& shape) {
  Decoder in(value);
  const std::uint8_t kind = in.u8();
  if (kind != kPageKind && kind != kUnplacedPageKind) in.fail();
  HEXAD_TRY(in.check("extent page"));
  HEXAD_TRY_ASSIGN(ExtentList extents, decode_extents(in, page * kPageSpan, shape));
  if (any_unplaced(extents) != (kind == kUnplacedPageKind)) in.fail();
  HEXAD_TRY(in.finish("extent page"));
  return extents;
}

namespace {

void encode_parts(Encoder& out, const NameParts& parts) {
  HEXAD_ASSERT(parts.size() <= kMaxNameParts);
  out.varint(parts.size());
  for (const NamePart& part : parts) {
    out.bytes(part.from);
    out.varint(part.space);
  }
}

// NR1, neighbours of one space joined, and not the one part that a collection has without parts.
NameParts decode_parts(Decoder& in, CollectionId id) {
  NameParts parts;
  const std::uint64_t count = in.count(2);
  if (count == 0 || count > kMaxNameParts) in.fail();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    NamePart part;
    part.from = in.bytes();
    part.space = static_cast<CollectionId>(in.varint_up_to(kMax32));
    const bool first = parts.empty();
    const bool follows = first ? part.from.empty()
                               : part.from > parts.back().from && part.space != parts.back().space;
    if (!follows || part.from.size() > kMaxNameSize) in.fail();
    if (in.ok()) parts.push_back(std::move(part));
  }
  if (parts.size() == 1 && parts.front().space == id) in.fail();
  return parts;
}

}  // namespace

void CollectionRecord::set_parts(NameParts&& all) {
  const bool plain = all.size() == 1 && all.front().space == id;
  parts = plain ? NameParts() : std::move(all);
}

std::string encode_collection(const CollectionRecord& record) {
  const bool parted = !record.parts.empty();
  std::string value;
  Encoder out(value);
  out.u8(parted ? kPartedCollectionKind : kCollectionKind);
  out.varint(record.id);
  compression::encode_policy(out, record.compression);
  if (parted || record.quota != Quota{}) {
    out.varint(record.quota.objects);
    out.varint(record.quota.bytes);
  }
  if (parted) encode_parts(out, record.parts);
  return value;
}

std::string encode_deletion(std::string_view end) {
  std::string value;
  if (end.empty()) return value;
  Encoder(value).u8(kDeletionEndKind);
  value.append(end);
  return value;
}

Result<NameRange> decode_deletion(std::string_view key, std::string_view value) {
  HEXAD_TRY_ASSIGN(const DeletionKey parsed, parse_deletion_key(key));
  NameRange range{parsed.space, std::string(parsed.from), {}};
  if (value.empty()) return range;
  range.end = value.substr(1);
  const bool valid = static_cast<std::uint8_t>(value.front()) == kDeletionEndKind &&
                     range.end.size() <= kMaxNameSize && range.end > range.from;
  if (!valid) {
    return Error{ErrorCode::kCorruption,
                 "removed objects: the end of their names is broken, " +
                     std::to_string(value.size()) + " bytes",
                 ""};
  }
  return range;
}

void add_to(CollectionTotals& totals, std::uint64_t size) {
  ++totals.objects;
  totals.bytes = std::min(totals.bytes + size, 2 * kMaxCollectionBytes);
}

std::string encode_totals(const CollectionTotals& totals) {
  HEXAD_ASSERT(totals.objects > 0 && totals.bytes <= kMaxCollectionBytes);
  std::string value;
  Encoder out(value);
  out.u8(kTotalsKind);
  out.varint(totals.objects);
  out.varint(totals.bytes);
  return value;
}

Result<CollectionTotals> decode_totals(std::string_view value) {
  Decoder in(value);
  CollectionTotals totals;
  if (in.u8() != kTotalsKind) in.fail();
  totals.objects = in.varint();
  totals.bytes = in.varint_up_to(kMaxCollectionBytes);
  if (totals.objects == 0) in.fail();  // none has no record
  HEXAD_TRY(in.finish("totals of a collection"));
  return totals;
}

std::string encode_owners(std::uint64_t owners) {
  HEXAD_ASSERT(owners > 0);
  std::string value;
  Encoder out(value);
  out.u8(kOwnersKind);
  out.varint(owners);
  return value;
}

Result<std::uint64_t> decode_owners(std::string_view value) {
  Decoder in(value);
  if (in.u8() != kOwnersKind) in.fail();
  const std::uint64_t owners = in.varint();
  if (owners == 0) in.fail();  // none has no record
  HEXAD_TRY(in.finish("number of owners"));
  return owners;
}

std::string encode_cuts(const PageCuts& cuts) {
  std::string value;
  Encoder out(value);
  out.u8(kCutsKind);
  encode_cuts(out, cuts);
  return value;
}

Result<PageCuts> decode_cuts(std::string_view value) {
  Decoder in(value);
  if (in.u8() != kCutsKind) in.fail();
  PageCuts cuts = decode_cuts(in);
  HEXAD_TRY(in.finish("cut pages"));
  return cuts;
}

std::string encode_hidden_entry() { return {static_cast<char>(kHiddenEntryKind)}; }

bool is_hidden_entry(std::string_view value) { return value == encode_hidden_entry(); }

Result<CollectionRecord> decode_collection(std::string_view value) {
  Decoder in(value);
  CollectionRecord record;
  const std::uint8_t kind = in.u8();
  const bool parted = kind == kPartedCollectionKind;
  if (kind != kCollectionKind && !parted) in.fail();
  record.id = static_cast<CollectionId>(in.varint_up_to(kMax32));
  HEXAD_TRY(in.check("collection record"));
  HEXAD_TRY_ASSIGN(record.compression, compression::decode_policy(in));
  if (parted || in.remaining() > 0) {
    record.quota.objects = in.varint();
    record.quota.bytes = in.varint();
    if (!parted && record.quota == Quota{}) in.fail();  // none has no fields
  }
  if (parted) record.parts = decode_parts(in, record.id);
  HEXAD_TRY(in.finish("collection record"));
  return record;
}

Result<ObjectSummary> decode_summary(std::string_view value) {
  Decoder in(value);
  const ObjectHead head = decode_head(in);
  if (!in.ok()) return in.check("object record").error();
  return head.summary;
}

bool has_unplaced_blob(std::string_view value) {
  if (value.size() < 2) return false;
  const auto kind = static_cast<std::uint8_t>(value[0]);
  const auto flags = static_cast<std::uint8_t>(value[1]);
  return kind == kUnplacedPageKind || (kind == kObjectKind && (flags & kHasUnplaced) != 0);
}

}  // namespace hexad::core
