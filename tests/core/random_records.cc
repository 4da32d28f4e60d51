#include "tests/core/random_records.h"

#include <algorithm>

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

std::vector<std::uint64_t> random_sums(io::Rng& rng, std::uint64_t count, ChecksumType type) {
  std::vector<std::uint64_t> sums(count);
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
  blob.where = random_where(rng);
  blob.raw = static_cast<std::uint32_t>(1 + any_up_to(rng, kPageSpan - 1));
  blob.stored = blob.raw;
  if (rng.chance(1, 2)) {
    blob.frames = random_frames(rng, blob.raw);
    blob.stored = static_cast<std::uint32_t>(blob.frames.stored_bytes);
  }
  if (rng.chance(1, 2)) {
    blob.cell_bytes =
        static_cast<std::uint32_t>(round_up(divide_up(blob.stored, shape.k), 512u << rng.below(5)));
    blob.cell_sums = random_sums(rng, shape.cells(), shape.checksum);
    blob.block_sums = random_sums(rng, shape.private_block_sums(blob.cell_bytes), shape.checksum);
  } else {
    blob.placement = Placement::kPacked;
    blob.cell = static_cast<std::uint32_t>(rng.below(shape.k));
    blob.cell_offset = static_cast<std::uint32_t>(8 * rng.below(1000));
    blob.cell_bytes =
        static_cast<std::uint32_t>(round_up(blob.cell_offset + blob.stored, 512u << rng.below(5)));
    blob.cell_sums = random_sums(rng, 1, shape.checksum);
    blob.block_sums = random_sums(rng, shape.packed_block_sums(blob.stored), shape.checksum);
  }
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

ObjectRecord random_object(io::Rng& rng, const RecordShape& shape) {
  ObjectRecord record;
  record.version = any_up_to(rng, kMaxLsn);
  record.mtime = static_cast<std::int64_t>(rng.next());
  record.hint = static_cast<std::uint8_t>(rng.below(3));
  for (std::uint64_t i = rng.below(4); i > 0; --i) {
    record.attributes[random_bytes(rng, between(rng, 1, 255))] = random_bytes(rng, rng.below(300));
  }
  record.size = any_up_to(rng, kMaxObjectSize);
  if (rng.chance(1, 4)) {
    record.body = 1 + any_up_to(rng, ~std::uint64_t{0} - 1);
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
  return record;
}

LogRecord random_log_record(io::Rng& rng, const RecordShape& shape) {
  LogRecord record;
  record.time = static_cast<std::int64_t>(rng.next());
  for (std::uint64_t i = rng.below(4); i > 0; --i) {
    PostImage& image = record.images.emplace_back();
    image.key = random_bytes(rng, between(rng, 1, rng.chance(1, 8) ? kMaxKeySize : 40));
    if (rng.chance(3, 4)) image.value = random_bytes(rng, rng.below(200));
  }
  for (std::uint64_t i = rng.below(3); i > 0; --i) {
    StripeProof& proof = record.allocated.emplace_back();
    proof.where = random_where(rng);
    proof.cell_bytes = static_cast<std::uint32_t>(512 * between(rng, 1, 2048));
    proof.durable_before = rng.chance(1, 2);
    if (!proof.durable_before || rng.chance(1, 2)) {
      proof.cell_sums = random_sums(rng, shape.cells(), shape.checksum);
    }
  }
  for (std::uint64_t i = rng.below(4); i > 0; --i) record.freed.push_back(random_where(rng));
  for (std::uint64_t i = rng.below(4); i > 0; --i) {
    record.live.push_back(
        {random_where(rng), static_cast<std::int64_t>(rng.next()) >> rng.below(63)});
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
  return record;
}

}  // namespace hexad::core
