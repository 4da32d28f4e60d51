// Manifests that the format allows: the one of its document, and random ones.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"
#include "core/runs/manifest.h"
#include "io/rng.h"

namespace hexad::core {

inline Uuid manifest_store_uuid() {
  Uuid uuid;
  uuid.bytes.fill(0x11);
  return uuid;
}

// 2+1, crc32c, blocks of 16 KiB.
inline RecordShape small_shape() { return {2, 1, ChecksumType::kCrc32c, 16384}; }

// A piece of a file: `length` bytes from `offset` on, in a stripe with cells of whole sectors.
inline Extent piece_at(std::uint64_t offset, std::uint64_t length, alloc::Extent where,
                       const RecordShape& shape) {
  Extent piece;
  piece.offset = offset;
  piece.length = length;
  Blob& blob = piece.blob;
  blob.where = where;
  blob.raw = blob.stored = static_cast<std::uint32_t>(length);
  blob.cell_bytes = static_cast<std::uint32_t>(round_up(divide_up(length, shape.k), 512));
  for (std::uint32_t i = 0; i < shape.cells(); ++i) blob.cell_sums.push_back(0xa0 + i);
  for (std::uint64_t i = 0; i < shape.private_block_sums(blob.cell_bytes); ++i) {
    blob.block_sums.push_back(i);
  }
  return piece;
}

// The example of doc/format.md.
inline Manifest example_manifest() {
  const RecordShape shape = small_shape();
  Manifest manifest;
  manifest.store = manifest_store_uuid();
  manifest.lsn = 1000;
  manifest.epoch = 7;
  manifest.next_run = 6;
  manifest.zones = {{17, 512, {{0, 7}, {1, 7}, {2, 300}}}};
  ManifestRun& newest = manifest.runs.emplace_back();
  newest.id = 5;
  newest.first_lsn = 900;
  newest.last_lsn = 1000;
  newest.entries = 20;
  newest.tombstones = 3;
  newest.footer_crc = 0xdeadbeef;
  newest.file = {1000, {piece_at(0, 1000, {17, 300, 1}, shape)}};
  ManifestRun& oldest = manifest.runs.emplace_back();
  oldest.id = 2;
  oldest.last_lsn = 900;
  oldest.entries = 150;
  oldest.file = {700,
                 {piece_at(0, 512, {17, 40, 1}, shape), piece_at(512, 188, {17, 42, 1}, shape)}};
  return manifest;
}

inline Manifest random_manifest(io::Rng& rng, const RecordShape& shape) {
  Manifest manifest;
  manifest.store = manifest_store_uuid();
  manifest.epoch = 1 + rng.below(9);
  alloc::ZoneId zone = 0;
  const std::uint64_t zones = 1 + rng.below(3);
  for (std::uint32_t slab = 0; slab < zones; ++slab) {
    zone += static_cast<std::uint32_t>(1 + rng.below(4));
    ManifestZone& row = manifest.zones.emplace_back();
    row.zone = zone;
    row.units = 100'000;
    for (std::uint32_t i = 0; i < shape.cells(); ++i) row.slots.push_back({i * 3, slab});
  }
  std::vector<std::uint32_t> next(manifest.zones.size(), 1);
  for (std::uint64_t runs = rng.below(4); runs > 0; --runs) {
    ManifestRun run;
    run.id = manifest.next_run;
    manifest.next_run += 1 + rng.below(3);
    run.first_lsn = manifest.lsn;
    manifest.lsn += 1 + rng.below(1000);
    run.last_lsn = manifest.lsn;
    run.entries = rng.below(1000);
    run.tombstones = rng.below(run.entries + 1);
    run.footer_crc = static_cast<std::uint32_t>(rng.next());
    const std::uint64_t bytes = 1 + rng.below(3 * kPageSpan);
    while (run.file.bytes < bytes) {
      const std::uint64_t room = kPageSpan - run.file.bytes % kPageSpan;
      const std::uint64_t length =
          std::min({bytes - run.file.bytes, room, rng.below(2) == 0 ? room : 1 + rng.below(room)});
      const std::size_t in = rng.below(manifest.zones.size());
      const auto units = static_cast<std::uint32_t>(1 + rng.below(3));
      run.file.pieces.push_back(
          piece_at(run.file.bytes, length, {manifest.zones[in].zone, next[in], units}, shape));
      next[in] += units + static_cast<std::uint32_t>(rng.below(2));
      run.file.bytes += length;
    }
    manifest.runs.insert(manifest.runs.begin(), std::move(run));
  }
  return manifest;
}

}  // namespace hexad::core
