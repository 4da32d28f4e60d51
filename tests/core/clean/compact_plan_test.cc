#include "core/clean/compact_plan.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "core/record/object_extents.h"
#include "tests/base/thinned.h"
#include "tests/core/clean/page_writes.h"

namespace hexad::core {
namespace {

constexpr std::uint64_t kStripe = 16384;

CompactRules rules_of(std::uint32_t most_shown, std::uint64_t piece_bytes,
                      std::uint32_t most_filled = 0) {
  return {most_shown, piece_bytes, kStripe, most_filled};
}

// Shown whole, in one unit.
Extent lone_extent(std::uint32_t stored) {
  Extent extent = extent_of_64_kib();
  extent.length = stored;
  extent.blob.raw = stored;
  extent.blob.stored = stored;
  extent.blob.where.units = 1;
  return extent;
}

// One private blob of 64 KiB that small writes have cut up: every second 4 KiB is another's.
ExtentList half_overwritten() {
  ExtentList extents = {extent_of_64_kib()};
  for (std::uint32_t i = 0; i < 8; ++i) {
    punch(extents, i * 8192, 4096);
    Extent small;
    small.offset = i * 8192;
    small.length = 4096;
    small.blob = unplaced_blob({5, i}, 4096, i);
    insert(extents, small);
  }
  return extents;
}

TEST_CASE("compact plan: nothing to do in a list that shows its blobs whole") {
  CHECK(plan_compaction({}, rules_of(1023, 65536)).pieces.empty());
  CHECK(plan_compaction({extent_of_64_kib()}, rules_of(1023, 65536)).pieces.empty());
}

TEST_CASE("compact plan: what is left of a blob is taken when it is little enough") {
  const ExtentList extents = half_overwritten();
  CHECK(plan_compaction(extents, rules_of(511, 65536)).pieces.empty());
  const CompactPlan plan = plan_compaction(extents, rules_of(512, 65536));
  REQUIRE(plan.pieces.size() == 8);
  CHECK(plan.frees == 4 * kStripe);  // all that its stripe takes
  CHECK(plan.pieces[0].offset() == 4096);
  CHECK(plan.pieces[0].length() == 4096);
  CHECK_FALSE(plan.unplaced);
}

TEST_CASE("compact plan: what shows nothing, and what of that comes back") {
  const ExtentList extents = half_overwritten();
  CHECK(unshown_bytes(extents, rules_of(511, 65536)).in_victims == 0);
  const UnshownBytes half = unshown_bytes(extents, rules_of(512, 65536));
  CHECK(half.all == 4 * kStripe - 32768);
  CHECK(half.in_victims == half.all);
  const UnshownBytes lone = unshown_bytes({lone_extent(10'000)}, rules_of(0, 65536, 640));
  CHECK(lone.all == kStripe - 10'000);
  CHECK(lone.in_victims == lone.all);
  CHECK(unshown_bytes({lone_extent(12'000)}, rules_of(0, 65536, 640)).in_victims == 0);
  CHECK(unshown_bytes({}, rules_of(1023, 65536)).all == 0);
  ExtentList shared = half_overwritten();
  for (Extent& extent : shared) extent.blob.share = 7;
  CHECK(unshown_bytes(shared, rules_of(1023, 65536)).all == 0);
}

TEST_CASE("compact plan: what leaves much of a stripe of its own empty is taken whole") {
  const ExtentList extents = {lone_extent(8192)};
  CHECK(plan_compaction(extents, rules_of(1023, 65536)).pieces.empty());
  CHECK(plan_compaction(extents, rules_of(1023, 65536, 511)).pieces.empty());
  const CompactPlan plan = plan_compaction(extents, rules_of(0, 65536, 512));
  REQUIRE(plan.pieces.size() == 1);
  CHECK(plan.pieces[0].length() == 8192);
  CHECK(plan.frees == kStripe);
}

TEST_CASE("compact plan: what is shown whole stays in a pack stripe, and where clones share it") {
  Extent packed = lone_extent(4096);
  packed.blob.placement = Placement::kPacked;
  packed.blob.where.units = 0;
  CHECK(plan_compaction({packed}, rules_of(1023, 65536, 1024)).pieces.empty());
  Extent shared = lone_extent(4096);
  shared.blob.share = 7;
  CHECK(plan_compaction({shared}, rules_of(1023, 65536, 1024)).pieces.empty());
  // One that was cut up is judged by what is shown of it.
  Extent part = lone_extent(4096);
  part.length = 4000;
  CHECK(plan_compaction({part}, rules_of(512, 65536, 1024)).pieces.empty());
}

TEST_CASE("compact plan: pieces are cut where they get too long") {
  ExtentList extents = {extent_of_64_kib()};
  punch(extents, 0, 32768);
  const CompactPlan plan = plan_compaction(extents, rules_of(512, 10'000));
  REQUIRE(plan.pieces.size() == 4);
  CHECK(plan.pieces[3].length() == 32768 - 3 * 10'000);
}

TEST_CASE("compact plan: a blob without a place in the list waits for one") {
  Extent unplaced;
  unplaced.length = 1000;
  unplaced.blob = unplaced_blob({5, 0}, 4096, 1);
  const CompactPlan plan = plan_compaction({unplaced}, rules_of(512, 65536));
  CHECK(plan.pieces.empty());
  CHECK(plan.unplaced);
}

TEST_CASE("compact plan: a list is not cut up so much that it is crowded") {
  ExtentList extents = {extent_of_64_kib()};
  punch(extents, 0, 32768);
  CHECK(plan_compaction(extents, rules_of(512, 128)).pieces.size() == 256);
  CHECK(plan_compaction(extents, rules_of(512, 127)).pieces.empty());
}

// The rules of compact_plan.h, said anew, byte by byte.
void check_plan(const CompactPlan& plan, const ExtentList& extents, const CompactRules& rules) {
  const std::vector<ShownByte> bytes = bytes_of(extents);
  std::map<BlobId, std::uint64_t> shown;
  for (const ShownByte& byte : bytes) {
    if (byte.is_blob) ++shown[byte.blob];
  }
  std::map<BlobId, Blob> victims;
  std::uint64_t frees = 0;
  bool unplaced = false;
  for (const Blob& blob : blobs_of(extents)) {
    if (blob.share != 0) continue;
    if (shown.at(blob.id()) == blob.raw) {
      if (blob.placement != Placement::kPrivate) continue;
      if (blob.stored * std::uint64_t{1024} > blob.where.units * kStripe * rules.most_filled)
        continue;
    } else if (shown.at(blob.id()) * 1024 > std::uint64_t{blob.raw} * rules.most_shown) {
      continue;
    }
    if (blob.placement == Placement::kLog) {
      unplaced = true;
      continue;
    }
    victims.emplace(blob.id(), blob);
    frees += blob.placement == Placement::kPrivate ? blob.where.units * kStripe : blob.stored;
  }
  REQUIRE(plan.unplaced == unplaced);
  if (plan.pieces.empty()) return;
  REQUIRE(plan.frees == frees);
  std::vector<bool> taken(bytes.size(), false);
  for (const CompactPiece& piece : plan.pieces) {
    REQUIRE(piece.length() <= rules.piece_bytes);
    std::uint64_t at = piece.offset();
    for (const Extent& extent : piece.from) {
      REQUIRE(extent.offset == at);
      REQUIRE(victims.contains(extent.blob.id()));
      REQUIRE(extent.blob.frames.algorithm == piece.algorithm);
      for (; at < extent.end(); ++at) {
        REQUIRE_FALSE(taken[at]);
        taken[at] = true;
        const ShownByte same = {extent.blob.id(), extent.blob_offset + at - extent.offset, true};
        if (bytes[at] != same) FAIL("another byte at " << at);
      }
    }
  }
  for (std::uint64_t at = 0; at < bytes.size(); ++at) {
    if (taken[at] != (bytes[at].is_blob && victims.contains(bytes[at].blob))) {
      FAIL("byte " << at);
    }
  }
}

TEST_CASE("compact plan: random pages, byte by byte") {
  io::Rng rng(17);
  std::size_t pieces = 0;
  for (int round = 0; round < 300 / static_cast<int>(testing::kThinned); ++round) {
    ExtentList extents;
    std::uint32_t unit = 1;
    write_at_random(extents, unit, 1 + rng.below(60), rng);
    const CompactRules rules =
        rules_of(static_cast<std::uint32_t>(rng.below(1025)), 256 + rng.below(kPageBytes),
                 static_cast<std::uint32_t>(rng.below(1025)));
    const CompactPlan plan = plan_compaction(extents, rules);
    check_plan(plan, extents, rules);
    pieces += plan.pieces.size();
  }
  CHECK(pieces * testing::kThinned > 1000);
}

}  // namespace
}  // namespace hexad::core
