#include "tests/core/random_records.h"

#include <algorithm>
#include <bit>
#include <set>

#include "alloc/device_layout.h"
#include "base/units.h"

namespace hexad::core {
namespace {

std::uint64_t between(io::Rng& rng, std::uint64_t low, std::uint64_t high) {
  return low + rng.below(high - low + 1);
}

// Numbers of every size, so that every length of a varint occurs.
std::uint64_t any_up_to(io::Rng& rng, std::uint64_t high) {
  const std::uint64_t value = rng.next() >> rng.below(64);
  return high == ~std::uint64_t{0} ? value : value % (high + 1);
}

alloc::Extent random_where(io::Rng& rng) {
  alloc::Extent where;
  where.zone = static_cast<std::uint32_t>(any_up_to(rng, 0xffffffff));
  where.unit = static_cast<std::uint32_t>(1 + any_up_to(rng, (1 << 24) - 1));
  where.units = static_cast<std::uint32_t>(1 + any_up_to(rng, 300));
  return where;
}

LogPlace random_log_place(io::Rng& rng) {
  return {1 + any_up_to(rng, kMaxLsn - 1), static_cast<std::uint32_t>(any_up_to(rng, 0xffffffff))};
}

SumList random_sums(io::Rng& rng, std::uint64_t count, ChecksumType type) {
  SumList sums(count);
  for (std::uint64_t& sum : sums) sum = rng.next() >> (type == ChecksumType::kCrc32c ? 32 : 0);
  return sums;
}

compression::FrameSet random_frames(io::Rng& rng, std::uint32_t raw) {
  compression::FrameSet frames;
  frames.algorithm = static_cast<compression::Algorithm>(between(rng, 1, 4));
  frames.frame_bytes = compression::kMinFrameBytes << rng.below(9);
  frames.raw_length = raw;
  for (std::uint64_t at = 0; at < raw; at += frames.frame_bytes) {
    const std::uint64_t frame = std::min<std::uint64_t>(frames.frame_bytes, raw - at);
    const auto stored =
        static_cast<std::uint32_t>(rng.chance(1, 4) ? frame : between(rng, 1, frame));
    frames.stored_lengths.push_back(stored);
    frames.stored_bytes += stored;
  }
  return frames;
}

Extent random_extent(io::Rng& rng, std::uint64_t offset, std::uint64_t room,
                     std::uint64_t& inline_room, const ExtentList& before,
                     const RecordShape& shape) {
  Extent extent;
  extent.offset = offset;
  if (rng.chance(1, 3) && inline_room > 0) {
    extent.length = between(rng, 1, std::min({room, kInlineLimit, inline_room}));
    inline_room -= extent.length;
    extent.bytes = random_bytes(rng, extent.length);
    return extent;
  }
  const Extent* other = before.empty() ? nullptr : &before[rng.below(before.size())];
  if (other != nullptr && !other->is_inline() && rng.chance(1, 2)) {
    extent.blob = other->blob;
  } else {
    extent.blob = random_blob(rng, shape);
  }
  extent.length = std::min<std::uint64_t>(room, extent.blob.raw);
  if (rng.chance(1, 2)) extent.length = between(rng, 1, extent.length);
  extent.blob_offset = static_cast<std::uint32_t>(rng.below(extent.blob.raw - extent.length + 1));
  return extent;
}

StripeProof random_proof(io::Rng& rng, std::uint32_t cell_bytes, const RecordShape& shape) {
  StripeProof proof;
  proof.where = random_where(rng);
  proof.cell_bytes = cell_bytes;
  proof.durable_before = rng.chance(1, 2);
  if (!proof.durable_before || rng.chance(1, 2)) {
    proof.cell_sums = random_sums(rng, shape.cells(), shape.checksum);
  }
  while (rng.chance(1, 4) && static_cast<std::uint32_t>(std::popcount(proof.unwritten)) < shape.m) {
    proof.unwritten |= std::uint64_t{1} << rng.below(shape.cells());
  }
  return proof;
}

// No two stripes of one part begin at the same place.
void set_apart(StripeProof& proof, const GroupPart& group) {
  proof.where.zone = (proof.where.zone & ~7u) | static_cast<std::uint32_t>(group.allocated.size());
}

// Blobs in some cells of a stripe, in order, with room between them.
void add_pack(io::Rng& rng, GroupPart& group, const RecordShape& shape) {
  StripeProof proof = random_proof(rng, 512, shape);
  proof.footer = static_cast<std::uint32_t>(rng.next());
  set_apart(proof, group);
  for (std::uint32_t cell = 0; cell < shape.k; ++cell) {
    std::uint64_t at = 0;
    for (std::uint64_t i = rng.below(cell == 0 ? 2 : 4) + (cell == 0 ? 1 : 0); i > 0; --i) {
      UnplacedPlace place;
      place.from = random_log_place(rng);
      place.stored = static_cast<std::uint32_t>(1 + any_up_to(rng, 100'000));
      place.where = {proof.where.zone, proof.where.unit, 0};
      place.cell = cell;
      at = round_up(at + rng.below(100), kPackAlignment);
      place.cell_offset = static_cast<std::uint32_t>(at);
      at += place.stored;
      proof.live += place.stored;
      group.placed.push_back(std::move(place));
    }
    proof.cell_bytes =
        std::max(proof.cell_bytes, static_cast<std::uint32_t>(round_up(at, 512u << rng.below(5))));
  }
  group.allocated.push_back(std::move(proof));
}

void add_private(io::Rng& rng, GroupPart& group, const RecordShape& shape) {
  UnplacedPlace place;
  place.from = random_log_place(rng);
  place.placement = Placement::kPrivate;
  place.stored = static_cast<std::uint32_t>(1 + any_up_to(rng, 300'000));
  place.cell_bytes =
      static_cast<std::uint32_t>(round_up(divide_up(place.stored, shape.k), 512u << rng.below(5)));
  place.cell_sums = random_sums(rng, shape.cells(), shape.checksum);
  place.block_sums = random_sums(rng, shape.private_block_sums(place.cell_bytes), shape.checksum);
  StripeProof proof = random_proof(rng, place.cell_bytes, shape);
  set_apart(proof, group);
  if (!proof.cell_sums.empty()) proof.cell_sums = place.cell_sums;
  place.where = proof.where;
  group.allocated.push_back(std::move(proof));
  group.placed.push_back(std::move(place));
}

}  // namespace

RecordShape random_shape(io::Rng& rng) {
  RecordShape shape;
  shape.k = static_cast<std::uint32_t>(between(rng, 1, 12));
  shape.m = static_cast<std::uint32_t>(between(rng, 1, 4));
  shape.checksum = rng.chance(1, 2) ? ChecksumType::kCrc32c : ChecksumType::kXxh3;
  shape.checksum_block = 4096u << 2 * rng.below(3);
  return shape;
}

std::string random_bytes(io::Rng& rng, std::size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(rng.next());
  return bytes;
}

Blob random_blob(io::Rng& rng, const RecordShape& shape) {
  Blob blob;
  blob.raw = static_cast<std::uint32_t>(1 + any_up_to(rng, kPageSpan - 1));
  blob.stored = blob.raw;
  if (rng.chance(1, 2)) {
    blob.frames = random_frames(rng, blob.raw);
    blob.stored = static_cast<std::uint32_t>(blob.frames.stored_bytes);
  }
  if (rng.chance(1, 3)) {
    blob.where = random_where(rng);
    blob.cell_bytes =
        static_cast<std::uint32_t>(round_up(divide_up(blob.stored, shape.k), 512u << rng.below(5)));
    blob.cell_sums = random_sums(rng, shape.cells(), shape.checksum);
    blob.block_sums = random_sums(rng, shape.private_block_sums(blob.cell_bytes), shape.checksum);
  } else {
    if (rng.chance(1, 2)) {
      blob.placement = Placement::kPacked;
      blob.where = random_where(rng);
      blob.where.units = 0;
      blob.cell = static_cast<std::uint32_t>(rng.below(shape.k));
      blob.cell_offset =
          static_cast<std::uint32_t>(8 * any_up_to(rng, (kMaxCellBytes - blob.stored) / 8));
    } else {
      blob.placement = Placement::kLog;
      blob.log = random_log_place(rng);
    }
    blob.cell_sums = random_sums(rng, 1, shape.checksum);
    blob.block_sums = random_sums(rng, shape.packed_block_sums(blob.stored), shape.checksum);
  }
  if (blob.placement != Placement::kPrivate && rng.chance(1, 3)) {
    const bool packed = blob.placement == Placement::kPacked;
    blob.forward = packed ? Forward::kWritten : Forward::kDue;
  }
  if (rng.chance(1, 3)) blob.share = 1 + any_up_to(rng, ~std::uint64_t{0} - 1);
  return blob;
}

ExtentList random_page(io::Rng& rng, std::uint32_t page, const RecordShape& shape) {
  ExtentList extents;
  const std::uint64_t end = (page + std::uint64_t{1}) * kPageSpan;
  std::uint64_t at = page * kPageSpan;
  std::uint64_t inline_room = kPageInlineLimit;
  const std::uint64_t wanted = any_up_to(rng, 12);
  while (extents.size() < wanted) {
    if (rng.chance(1, 2)) at += any_up_to(rng, kPageSpan / 4);
    if (at >= end) break;
    extents.push_back(random_extent(rng, at, end - at, inline_room, extents, shape));
    at = extents.back().end();
  }
  return extents;
}

PageCuts random_cuts(io::Rng& rng) {
  PageCuts cuts;
  for (std::uint64_t i = between(rng, 1, rng.chance(1, 8) ? kMaxPageCuts : 5); i > 0; --i) {
    const auto from = static_cast<std::uint32_t>(any_up_to(rng, kEndOfPages - 1));
    add_cut(cuts,
            {from, from + 1 + static_cast<std::uint32_t>(any_up_to(rng, kEndOfPages - 1 - from))});
  }
  return cuts;
}

ObjectRecord random_object(io::Rng& rng, const RecordShape& shape) {
  ObjectRecord record;
  record.version = any_up_to(rng, kMaxLsn);
  record.mtime = static_cast<std::int64_t>(rng.next());
  do {
    record.hint = static_cast<std::uint16_t>(rng.below(rng.chance(1, 2) ? 3 : 1 << 10));
  } while (!is_valid(static_cast<Hint>(record.hint)));
  for (std::uint64_t i = rng.below(4); i > 0; --i) {
    record.attributes[random_bytes(rng, between(rng, 1, 255))] = random_bytes(rng, rng.below(300));
  }
  record.size = any_up_to(rng, kMaxObjectSize);
  if (rng.chance(1, 4)) record.omap = 1 + any_up_to(rng, ~std::uint64_t{0} - 1);
  if (rng.chance(1, 4)) {
    std::set<OmapId> layers;
    for (std::uint64_t i = between(rng, 1, kMaxOmapLayers); i > 0; --i) {
      const OmapId layer = 1 + any_up_to(rng, ~std::uint64_t{0} - 1);
      if (layer != record.omap) layers.insert(layer);
    }
    record.layers.assign(layers.rbegin(), layers.rend());
  }
  if (rng.chance(1, 4)) {
    record.body = 1 + any_up_to(rng, ~std::uint64_t{0} - 1);
    if (rng.chance(1, 2)) record.cuts = random_cuts(rng);
    return record;
  }
  record.extents = random_page(rng, 0, shape);
  if (!record.extents.empty()) record.size = std::max(record.size, record.extents.back().end());
  return record;
}

CollectionRecord random_collection(io::Rng& rng) {
  CollectionRecord record;
  record.id = static_cast<std::uint32_t>(any_up_to(rng, 0xffffffff));
  record.compression.mode = static_cast<compression::Mode>(rng.below(4));
  record.compression.algorithm = static_cast<compression::Algorithm>(between(rng, 1, 4));
  const compression::LevelRange levels = compression::level_range(record.compression.algorithm);
  record.compression.level =
      levels.min + static_cast<int>(rng.below(static_cast<unsigned>(levels.max - levels.min + 1)));
  record.compression.required_ratio = static_cast<std::uint32_t>(between(rng, 1, 1000));
  record.compression.min_blob_size = static_cast<std::uint32_t>(rng.below(4096));
  record.compression.max_blob_size = compression::kMinFrameBytes << rng.below(9);
  if (rng.chance(1, 2)) record.quota.objects = any_up_to(rng, ~std::uint64_t{0});
  if (rng.chance(1, 2)) record.quota.bytes = any_up_to(rng, ~std::uint64_t{0});
  if (rng.chance(1, 3)) {
    std::set<std::string> bounds{""};
    for (std::uint64_t i = rng.below(5); i > 0; --i) {
      bounds.insert(random_bytes(rng, between(rng, 1, rng.chance(1, 8) ? 200 : 20)));
    }
    CollectionId space = record.id;
    for (const std::string& from : bounds) record.parts.push_back({from, ++space});
  }
  return record;
}

CollectionTotals random_totals(io::Rng& rng) {
  return {1 + any_up_to(rng, ~std::uint64_t{0} - 1), any_up_to(rng, kMaxCollectionBytes)};
}

GroupPart random_group(io::Rng& rng, const RecordShape& shape) {
  GroupPart group;
  for (std::uint64_t i = rng.below(3); i > 0; --i) add_pack(rng, group, shape);
  for (std::uint64_t i = rng.below(3); i > 0; --i) add_private(rng, group, shape);
  for (std::uint64_t i = rng.below(3); i > 0; --i) {
    UnplacedPayload& payload = group.payloads.emplace_back();
    payload.place = random_log_place(rng);
    payload.owner = random_bytes(rng, between(rng, 1, rng.chance(1, 8) ? kMaxKeySize : 40));
    payload.offset = any_up_to(rng, kMaxObjectSize);
    payload.bytes = random_bytes(rng, between(rng, 1, 200));
  }
  std::set<LogPlace> names;
  for (UnplacedPlace& place : group.placed) {
    while (!names.insert(place.from).second) place.from = random_log_place(rng);
  }
  for (UnplacedPayload& payload : group.payloads) {
    while (!names.insert(payload.place).second) payload.place = random_log_place(rng);
  }
  return group;
}

LogRecord random_log_record(io::Rng& rng, const RecordShape& shape) {
  LogRecord record;
  record.time = static_cast<std::int64_t>(rng.next());
  for (std::uint64_t i = rng.below(4); i > 0; --i) {
    PostImage& image = record.images.emplace_back();
    image.key = random_bytes(rng, between(rng, 1, rng.chance(1, 8) ? kMaxKeySize : 40));
    if (rng.chance(3, 4)) image.value = random_bytes(rng, rng.below(200));
    if (!rng.chance(1, 6)) continue;
    image.value.reset();
    ImagePatch& patch = image.patch.emplace();
    patch.base_crc = static_cast<std::uint32_t>(rng.next());
    for (std::uint64_t pieces = rng.below(4); pieces > 0; --pieces) {
      patch.pieces.push_back({static_cast<std::uint32_t>(any_up_to(rng, 0xffffffff)),
                              static_cast<std::uint32_t>(any_up_to(rng, 0xffffffff)),
                              random_bytes(rng, rng.below(50))});
    }
  }
  for (std::uint64_t i = rng.below(3); i > 0; --i) {
    record.allocated.push_back(
        random_proof(rng, static_cast<std::uint32_t>(512 * between(rng, 1, 2048)), shape));
    StripeProof& proof = record.allocated.back();
    if (rng.chance(1, 2)) proof.live = 1 + any_up_to(rng, shape.k * proof.cell_bytes - 1);
  }
  for (std::uint64_t i = rng.below(4); i > 0; --i) record.freed.push_back(random_where(rng));
  for (std::uint64_t i = rng.below(4); i > 0; --i) {
    const alloc::Extent where = random_where(rng);
    record.packed_releases.push_back(
        {where.zone, where.unit, static_cast<std::uint32_t>(1 + any_up_to(rng, kPageSpan - 1))});
  }
  for (std::uint64_t i = rng.below(4); i > 0; --i) {
    record.unplaced_releases.push_back(random_log_place(rng));
  }
  for (std::uint64_t i = rng.below(3); i > 0; --i) {
    ZoneCreation& zone = record.zones.emplace_back();
    zone.zone = static_cast<std::uint32_t>(any_up_to(rng, 0xffffffff));
    zone.units =
        static_cast<std::uint32_t>(between(rng, alloc::kMinSlabUnits, alloc::kMaxSlabUnits));
    for (std::uint32_t slot = 0; slot < shape.cells(); ++slot) {
      zone.slots.push_back({slot * 3 + static_cast<std::uint32_t>(rng.below(3)),
                            static_cast<std::uint32_t>(rng.below(alloc::kMaxSlabs))});
    }
  }
  if (rng.chance(2, 3)) record.group = random_group(rng, shape);
  return record;
}

}  // namespace hexad::core
