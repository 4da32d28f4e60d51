#include "core/record/extent_codec.h"

#include <catch2/catch.hpp>
#include <functional>

#include "base/codec.h"
#include "io/rng.h"
#include "tests/core/random_records.h"
#include "tests/core/sample_records.h"

namespace hexad::core {
namespace {

TEST_CASE(
    "extent_codec: random pages come back, and what follows them is left to the next reader") {
  const std::uint64_t seed = GENERATE(1, 2, 3);
  CAPTURE(seed);
  io::Rng rng(seed);
  for (int i = 0; i < 200; ++i) {
    const RecordShape shape = random_shape(rng);
    const std::uint64_t page_start = rng.below(1000) * kPageSpan;
    const ExtentList page =
        random_page(rng, static_cast<std::uint32_t>(page_start / kPageSpan), shape);
    REQUIRE(check_extents(page, page_start, shape).ok());
    std::string bytes;
    Encoder out(bytes);
    encode_extents(out, page, page_start, shape);
    bytes += "next";
    Decoder in(bytes);
    REQUIRE(decode_extents(in, page_start, shape).value() == page);
    REQUIRE(in.remaining() == 4);
  }
}

TEST_CASE("extent_codec: extents that the format does not allow are refused") {
  const RecordShape shape;
  const Extent good = extent_of_64_kib();
  const auto problem_of = [&](const ExtentList& extents) {
    const Status checked = check_extents(extents, 0, shape);
    return checked.ok() ? std::string() : checked.error().message;
  };
  const auto changed = [&](const std::function<void(Extent&)>& change) {
    Extent extent = good;
    change(extent);
    return problem_of({extent});
  };
  const auto blob_problem = [&](Extent extent, const std::function<void(Blob&)>& change) {
    change(extent.blob);
    return problem_of({extent});
  };
  REQUIRE(problem_of({good}).empty());

  SECTION("order, E1") {
    REQUIRE(problem_of({inline_extent(0, 10), inline_extent(10, 10)}).empty());
    REQUIRE_FALSE(problem_of({inline_extent(0, 10), inline_extent(9, 10)}).empty());
    REQUIRE_FALSE(problem_of({inline_extent(20, 10), inline_extent(0, 10)}).empty());
    REQUIRE_FALSE(changed([](Extent& e) { e.length = 0; }).empty());
  }
  SECTION("page, E2") {
    REQUIRE(changed([](Extent& e) { e.offset = kPageSpan - e.length; }).empty());
    REQUIRE_FALSE(changed([](Extent& e) { e.offset = kPageSpan - e.length + 1; }).empty());
    REQUIRE_FALSE(check_extents({good}, kPageSpan, shape).ok());
  }
  SECTION("inline, E3") {
    REQUIRE(problem_of({inline_extent(0, kInlineLimit)}).empty());
    REQUIRE_FALSE(problem_of({inline_extent(0, kInlineLimit + 1)}).empty());
    Extent extent = inline_extent(0, 10);
    extent.length = 11;
    REQUIRE_FALSE(problem_of({extent}).empty());
    ExtentList many;
    for (std::uint64_t i = 0; i < 16; ++i) many.push_back(inline_extent(i * 256, 256));
    REQUIRE(problem_of(many).empty());
    many.push_back(inline_extent(16 * 256, 1));
    REQUIRE_FALSE(problem_of(many).empty());
  }
  SECTION("part of the blob, E4") {
    REQUIRE_FALSE(changed([](Extent& e) { e.blob_offset = 1; }).empty());
    REQUIRE_FALSE(changed([](Extent& e) { e.length += 1; }).empty());
    REQUIRE_FALSE(changed([](Extent& e) { e.blob_offset = 0xffffffff; }).empty());
  }
  SECTION("one blob in one place, E5") {
    ExtentList two = {good, good};
    two[1].offset = good.length;
    REQUIRE(problem_of(two).empty());
    two[1].blob.cell_sums[0] ^= 1;
    REQUIRE_FALSE(problem_of(two).empty());
    two[1].blob.where.unit += 4;
    REQUIRE(problem_of(two).empty());
  }
  SECTION("their number, E6") {
    ExtentList many;
    for (std::uint64_t i = 0; i < kMaxPageExtents; ++i) many.push_back(inline_extent(i, 1));
    REQUIRE(problem_of(many).empty());
    many.push_back(good);
    many.back().offset = kMaxPageExtents;
    REQUIRE_FALSE(problem_of(many).empty());
  }
  SECTION("the stripe, EB1") {
    REQUIRE_FALSE(changed([](Extent& e) { e.blob.where.unit = 0; }).empty());
    REQUIRE_FALSE(changed([](Extent& e) { e.blob.where.units = 0; }).empty());
    REQUIRE(changed([](Extent& e) { e.blob.where.unit = 0xffffffff - 3; }).empty());
    REQUIRE_FALSE(changed([](Extent& e) { e.blob.where.unit = 0xffffffff - 2; }).empty());
  }
  SECTION("sizes and cells, EB2 and EB3") {
    REQUIRE_FALSE(changed([](Extent& e) { e.blob.raw = e.blob.stored = 0; }).empty());
    REQUIRE_FALSE(changed([](Extent& e) { e.blob.stored += 1; }).empty());
    REQUIRE_FALSE(changed([](Extent& e) { e.blob.raw = kPageSpan + 1; }).empty());
    REQUIRE_FALSE(changed([](Extent& e) { e.blob.cell_bytes = 0; }).empty());
    REQUIRE_FALSE(changed([](Extent& e) { e.blob.cell_bytes -= 512; }).empty());
    REQUIRE_FALSE(changed([](Extent& e) { e.blob.cell_bytes -= 1; }).empty());
    RecordShape long_blocks = shape;  // so that the number of sums does not tell
    long_blocks.checksum_block = 64 << 10;
    Extent longer = good;
    longer.blob.cell_bytes += (16 << 10) - 512;
    REQUIRE(check_extents({longer}, 0, long_blocks).ok());
    longer.blob.cell_bytes += 512;
    REQUIRE_FALSE(check_extents({longer}, 0, long_blocks).ok());
    REQUIRE_FALSE(changed([](Extent& e) { e.blob.cell = 1; }).empty());
    REQUIRE_FALSE(changed([](Extent& e) { e.blob.cell_offset = 8; }).empty());
  }
  SECTION("packed, EB1 and EB3") {
    Extent packed;
    packed.length = packed.blob.raw = packed.blob.stored = 100;
    packed.blob.placement = Placement::kPacked;
    packed.blob.where = {1, 1, 0};
    packed.blob.cell_offset = kMaxCellBytes - 104;
    packed.blob.cell = 3;
    packed.blob.cell_sums = {1};
    REQUIRE(problem_of({packed}).empty());
    const auto packed_problem = [&](const std::function<void(Blob&)>& change) {
      return blob_problem(packed, change);
    };
    REQUIRE_FALSE(packed_problem([](Blob& b) { b.cell = 4; }).empty());
    REQUIRE_FALSE(packed_problem([](Blob& b) { b.cell_offset += 8; }).empty());
    REQUIRE_FALSE(packed_problem([](Blob& b) { b.cell_offset = 4; }).empty());
    REQUIRE_FALSE(packed_problem([](Blob& b) { b.cell_offset = 0xfffffff8; }).empty());
    REQUIRE_FALSE(packed_problem([](Blob& b) { b.where.unit = 0; }).empty());
    REQUIRE_FALSE(packed_problem([](Blob& b) { b.where.units = 1; }).empty());
    REQUIRE_FALSE(packed_problem([](Blob& b) { b.cell_bytes = 4096; }).empty());
    REQUIRE_FALSE(packed_problem([](Blob& b) { b.log = {1, 0}; }).empty());
    REQUIRE_FALSE(packed_problem([](Blob& b) { b.cell_sums.push_back(1); }).empty());
    REQUIRE_FALSE(packed_problem([](Blob& b) { b.placement = static_cast<Placement>(4); }).empty());
    REQUIRE_FALSE(changed([](Extent& e) { e.blob.log = {1, 0}; }).empty());
  }
  SECTION("unplaced, EB1") {
    Extent unplaced;
    unplaced.length = 100;
    unplaced.blob = unplaced_blob({7, 0}, 100, 1);
    REQUIRE(problem_of({unplaced}).empty());
    const auto unplaced_problem = [&](const std::function<void(Blob&)>& change) {
      return blob_problem(unplaced, change);
    };
    REQUIRE_FALSE(unplaced_problem([](Blob& b) { b.log = {}; }).empty());
    REQUIRE_FALSE(unplaced_problem([](Blob& b) { b.where = {1, 1, 0}; }).empty());
    REQUIRE_FALSE(unplaced_problem([](Blob& b) { b.cell_bytes = 512; }).empty());
    REQUIRE_FALSE(unplaced_problem([](Blob& b) { b.cell = 1; }).empty());
    REQUIRE_FALSE(unplaced_problem([](Blob& b) { b.cell_offset = 8; }).empty());
    // Two blobs of one transaction are told apart by their index, and only by that.
    ExtentList two = {unplaced, unplaced};
    two[1].offset = 100;
    two[1].blob.cell_sums = {2};
    REQUIRE_FALSE(problem_of(two).empty());
    two[1].blob.log.index = 1;
    REQUIRE(problem_of(two).empty());
  }
  SECTION("frames, EB4") {
    const auto framed = [&](const std::function<void(Blob&)>& change) {
      return changed([&](Extent& e) {
        e.blob.frames = {compression::Algorithm::kZstd, 64 << 10, 64 << 10, 40'000, {40'000}};
        e.blob.stored = 40'000;
        e.blob.cell_bytes = 12 << 10;
        change(e.blob);
      });
    };
    REQUIRE(framed([](Blob&) {}).empty());
    REQUIRE_FALSE(framed([](Blob& b) { b.frames.stored_bytes -= 1; }).empty());
    REQUIRE_FALSE(framed([](Blob& b) { b.frames.raw_length += 1; }).empty());
    REQUIRE_FALSE(framed([](Blob& b) { b.frames = {}; }).empty());
  }
  SECTION("checksums, EB5") {
    REQUIRE_FALSE(changed([](Extent& e) { e.blob.cell_sums.pop_back(); }).empty());
    REQUIRE_FALSE(changed([](Extent& e) { e.blob.cell_sums.push_back(0); }).empty());
    REQUIRE_FALSE(changed([](Extent& e) { e.blob.block_sums.push_back(0); }).empty());
    REQUIRE_FALSE(changed([](Extent& e) { e.blob.cell_sums[2] = 1ULL << 32; }).empty());
  }
}

}  // namespace
}  // namespace hexad::core
