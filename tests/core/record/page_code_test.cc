#include "core/record/page_code.h"

#include <catch2/catch.hpp>

#include "base/units.h"
#include "core/record/extent_codec.h"
#include "core/record/object_extents.h"
#include "io/rng.h"
#include "tests/core/random_records.h"
#include "tests/core/sample_records.h"

namespace hexad::core {
namespace {

// A place for an unplaced blob that no other one has.
Blob placed(Blob blob, std::uint32_t unit) {
  blob.placement = Placement::kPacked;
  blob.log = {};
  blob.where = {7, unit, 0};
  blob.cell = 0;
  blob.cell_offset = 8;
  if (blob.forward != Forward::kNone) blob.forward = Forward::kWritten;
  return blob;
}

// Of all extents that show the same blob as `like`.
template <typename Change>
void change_blob(ExtentList& extents, const Blob& like, const Change& change) {
  const BlobId id = like.id();
  for (Extent& extent : extents) {
    if (!extent.is_inline() && extent.blob.id() == id) change(extent.blob);
  }
}

const Extent* any_extent(io::Rng& rng, const ExtentList& extents) {
  if (extents.empty()) return nullptr;
  const Extent& extent = extents[rng.below(extents.size())];
  return extent.is_inline() ? nullptr : &extent;
}

// What the sequencer does to a list that it remembers: unplaced blobs get their places.
void resolve_some(io::Rng& rng, ExtentList& extents, std::uint32_t& unit) {
  const Extent* const any = any_extent(rng, extents);
  if (any == nullptr || any->blob.placement != Placement::kLog) return;
  const Blob place = placed(any->blob, ++unit);
  change_blob(extents, any->blob, [&](Blob& blob) { blob = place; });
}

// A part of the page gets other bytes: a hole, inline ones, a new blob, or more of one that is
// there.
void write_some(io::Rng& rng, ExtentList& extents, std::uint64_t start, const RecordShape& shape) {
  const std::uint64_t offset = start + rng.below(kPageSpan);
  const std::uint64_t length =
      std::min(1 + (rng.next() >> (44 + rng.below(20))), start + kPageSpan - offset);
  punch(extents, offset, length);
  Extent extent;
  extent.offset = offset;
  extent.length = length;
  switch (rng.below(4)) {
    case 0:
      return;
    case 1:
      extent.length = std::min(length, kInlineLimit);
      extent.bytes = random_bytes(rng, extent.length);
      break;
    case 2:
      if (const Extent* const any = any_extent(rng, extents)) {
        extent.blob = any->blob;
        break;
      }
      [[fallthrough]];
    default:
      extent.blob = random_blob(rng, shape);
  }
  if (!extent.is_inline()) {
    extent.length = std::min<std::uint64_t>(length, extent.blob.raw);
    extent.blob_offset = static_cast<std::uint32_t>(rng.below(extent.blob.raw - extent.length + 1));
  }
  insert(extents, std::move(extent));
}

void change_some(io::Rng& rng, ExtentList& extents, std::uint64_t start, const RecordShape& shape) {
  const Extent* const any = any_extent(rng, extents);
  switch (rng.below(5)) {
    case 0:
      if (any != nullptr) {
        const Blob like = any->blob;
        const ShareId share = 1 + rng.below(1000);
        change_blob(extents, like, [&](Blob& blob) { blob.share = share; });
      }
      break;
    case 1:
      if (any != nullptr && any->blob.placement != Placement::kPrivate) {
        const Blob like = any->blob;
        const bool unplaced = like.placement == Placement::kLog;
        const Forward mark = rng.chance(1, 2) ? Forward::kNone
                             : unplaced       ? Forward::kDue
                                              : Forward::kWritten;
        change_blob(extents, like, [&](Blob& blob) { blob.forward = mark; });
      }
      break;
    default:
      write_some(rng, extents, start, shape);
  }
}

// One page after the other, each made of the one before by some changes.
int splice_on(io::Rng& rng, const RecordShape& shape, const ExtentList& first,
              std::uint64_t most_changes) {
  const std::uint64_t start = round_down(first.front().offset, kPageSpan);
  KnownPage known{first, code_page(first, shape)};
  REQUIRE(known.code.value == encode_page(first, shape));
  std::uint32_t unit = 1u << 24;
  int spliced = 0;
  for (int step = 0; step < 40; ++step) {
    CAPTURE(step);
    if (rng.chance(1, 2)) resolve_some(rng, known.extents, unit);
    ExtentList next = known.extents;
    for (std::uint64_t i = rng.below(most_changes + 1); i > 0; --i) {
      change_some(rng, next, start, shape);
    }
    if (next.empty() || !check_extents(next, start, shape).ok()) continue;
    PageCode code = code_page(next, shape, known);
    REQUIRE(code.value == encode_page(next, shape));
    REQUIRE(code == code_page(next, shape));
    known = {std::move(next), std::move(code)};
    ++spliced;
  }
  return spliced;
}

TEST_CASE("page_code: what is spliced is what is encoded, byte for byte, of extents of all kinds") {
  const std::uint64_t seed = GENERATE(range(1, 9));
  io::Rng rng(seed);
  int spliced = 0;
  for (int i = 0; i < 40; ++i) {
    CAPTURE(seed, i);
    const RecordShape shape = random_shape(rng);
    const ExtentList first = random_page(rng, static_cast<std::uint32_t>(rng.below(3)), shape);
    if (first.empty()) continue;
    spliced += splice_on(rng, shape, first, 3);
  }
  REQUIRE(spliced > 200);
}

TEST_CASE("page_code: pages that small writes have cut into hundreds of pieces") {
  const RecordShape shape;
  const std::uint64_t seed = GENERATE(1, 2, 3);
  CAPTURE(seed);
  io::Rng rng(seed);
  // A large blob, of which small ones hide more and more.
  ExtentList page;
  Extent large;
  large.length = kPageSpan;
  large.blob.where = {9, 1, 64};
  large.blob.raw = large.blob.stored = kPageSpan;
  large.blob.cell_bytes = kPageSpan / 4;
  large.blob.cell_sums = SumList(shape.cells(), 1);
  large.blob.block_sums = SumList(shape.private_block_sums(large.blob.cell_bytes), 2);
  insert(page, large);
  KnownPage known{page, code_page(page, shape)};
  for (std::uint32_t i = 0; i < 600; ++i) {
    ExtentList next = known.extents;
    Extent small;
    small.offset = rng.below(256) * 4096;
    small.length = 4096;
    small.blob = unplaced_blob({1 + i / 16, i % 16}, 4096, i);
    punch(next, small.offset, small.length);
    insert(next, small);
    PageCode code = code_page(next, shape, known);
    REQUIRE(code.value == encode_page(next, shape));
    known = {std::move(next), std::move(code)};
    if (i % 16 != 15) continue;
    for (Extent& extent : known.extents) {
      if (extent.blob.placement == Placement::kLog) {
        extent.blob = placed(extent.blob, static_cast<std::uint32_t>(1 + extent.blob.log.lsn * 16 +
                                                                     extent.blob.log.index));
      }
    }
  }
}

TEST_CASE("page_code: another page, an empty one and a new one are encoded as a whole") {
  const RecordShape shape;
  const ExtentList first = {inline_extent(0, 10), inline_extent(20, 10)};
  const ExtentList second = {inline_extent(kPageSpan, 10)};
  REQUIRE(code_page(second, shape, {first, code_page(first, shape)}).value ==
          encode_page(second, shape));
  REQUIRE(code_page(second, shape, KnownPage()).value == encode_page(second, shape));
}

}  // namespace
}  // namespace hexad::core
