// What prepared blobs have to be, whoever prepares them.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compression/compressor.h"
#include "core/blob/blob_prepare.h"
#include "core/blob/fill_cells.h"
#include "core/record/extent_codec.h"
#include "ec/codec.h"
#include "io/memory_system.h"
#include "io/rng.h"

namespace hexad::core::testing {

struct PreparerFixture {
  explicit PreparerFixture(ec::Profile profile = {}, ChecksumType sums = ChecksumType::kCrc32c) {
    shape.profile = profile;
    shape.record = {profile.k, profile.m, sums, 4096};
    shape.private_threshold = 64 << 10;
    codec = ec::make_codec(profile).value();
  }

  std::string bytes(std::size_t size) {
    std::string text(size, '\0');
    for (char& byte : text) byte = static_cast<char>(rng.next());
    return text;
  }
  PreparedBlob prepare(std::string_view raw, const compression::Policy& policy = {},
                       BlobPreparer::Form form = BlobPreparer::Form::kBySize) {
    return preparer().prepare(as_bytes(raw), compression::Hint::kNone, policy, form).value();
  }
  BlobPreparer preparer() { return {shape, *codec, compressor}; }

  // The record of the blob once it has a place, as the format demands it (EB1 to EB5).
  void check_record(Blob blob) {
    if (blob.placement == Placement::kPrivate) {
      blob.where = {1, 1, 1};
    } else {
      blob.log = {1, 0};
    }
    Extent extent;
    extent.length = blob.raw;
    extent.blob = blob;
    const Status sound = check_extents({extent}, 0, shape.record);
    INFO((sound.ok() ? "" : sound.error().message));
    REQUIRE(sound.ok());
  }

  StoreShape shape;
  io::Rng rng{4};
  io::MemorySystem system;
  compression::Counters counters;
  compression::Compressor compressor{system.clock(), counters};
  std::unique_ptr<ec::Codec> codec;
};

inline void check_cells(const PreparedBlob& prepared, std::string_view stored, PreparerFixture& f) {
  const Blob& blob = prepared.blob;
  REQUIRE_FALSE(prepared.is_unplaced());
  REQUIRE(blob.stored == stored.size());
  REQUIRE(blob.cell_bytes % f.shape.block == 0);
  REQUIRE(prepared.units * f.shape.unit >= blob.cell_bytes);
  REQUIRE((prepared.units - 1) * f.shape.unit < blob.cell_bytes);
  std::string data;
  std::vector<ByteView> cells;
  SumList block_sums;
  for (std::uint32_t role = 0; role < f.shape.cells(); ++role) {
    cells.push_back(prepared.cell(role));
    REQUIRE(cells.back().size() == blob.cell_bytes);
    REQUIRE(checksum(f.shape.record.checksum, cells.back()) == blob.cell_sums[role]);
    if (role >= f.shape.k()) continue;
    data += as_text(cells.back());
    if (blob.cell_bytes > f.shape.record.checksum_block) {
      append_block_sums(f.shape.record.checksum, cells.back(), f.shape.record.checksum_block,
                        block_sums);
    }
  }
  REQUIRE(blob.block_sums == block_sums);
  REQUIRE(data.substr(0, stored.size()) == stored);
  REQUIRE(is_zero(as_bytes(data).subspan(stored.size())));
  REQUIRE(f.codec->verify(cells).value());
  f.check_record(blob);
}

inline void check_unplaced(const PreparedBlob& prepared, std::string_view stored,
                           PreparerFixture& f) {
  const Blob& blob = prepared.blob;
  REQUIRE(prepared.is_unplaced());
  REQUIRE(as_text(prepared.stored.bytes()) == stored);
  REQUIRE(prepared.cells.empty());
  REQUIRE(blob.stored == stored.size());
  REQUIRE(blob.cell_sums == SumList{checksum(f.shape.record.checksum, as_bytes(stored))});
  SumList block_sums;
  if (stored.size() > f.shape.record.checksum_block) {
    append_block_sums(f.shape.record.checksum, as_bytes(stored), f.shape.record.checksum_block,
                      block_sums);
  }
  REQUIRE(blob.block_sums == block_sums);
  f.check_record(blob);
  // What is reserved for it is what a stripe of its own takes.
  const PreparedBlob own = f.preparer().code(as_bytes(stored)).value();
  REQUIRE(own.units == prepared.units);
  check_cells(own, stored, f);
}

}  // namespace hexad::core::testing
