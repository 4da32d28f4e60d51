// What becomes of a list that changes while what it showed is written again.
#include <catch2/catch.hpp>

#include "core/clean/compact_plan.h"
#include "core/clean/moved_extents.h"
#include "tests/core/clean/page_writes.h"

namespace hexad::core {
namespace {

Blob written_again(std::uint32_t unit, std::uint64_t length) {
  Blob blob;
  blob.placement = Placement::kPacked;
  blob.where = {2, unit, 0};
  blob.raw = blob.stored = static_cast<std::uint32_t>(length);
  blob.cell_sums = {unit};
  return blob;
}

TEST_CASE("show instead: another blob in the same place stays") {
  const ExtentList was = {extent_of_64_kib()};
  ExtentList now = was;
  now[0].blob.cell_sums[0] = 7;
  CHECK(show_instead(now, was, written_again(1, 65536)) == 0);
  CHECK(now[0].blob.where.unit == was[0].blob.where.unit);
}

TEST_CASE("show instead: a blob that clones share by now stays") {
  const ExtentList was = {extent_of_64_kib()};
  ExtentList now = was;
  now[0].blob.share = 3;
  CHECK(show_instead(now, was, written_again(1, 65536)) == 0);
}

TEST_CASE("show instead: the same blob at another byte of the list stays") {
  ExtentList was = {slice(extent_of_64_kib(), 0, 4096)};
  ExtentList now = was;
  now[0].blob_offset = 4096;
  CHECK(show_instead(now, was, written_again(1, 4096)) == 0);
  CHECK(now[0].blob_offset == 4096);
}

TEST_CASE("show instead: random pages that are written to meanwhile, byte by byte") {
  io::Rng rng(23);
  std::uint64_t replaced = 0;
  std::uint64_t late = 0;
  for (int round = 0; round < 300; ++round) {
    ExtentList was;
    std::uint32_t unit = 1;
    write_at_random(was, unit, 1 + rng.below(60), rng);
    const CompactPlan plan = plan_compaction(was, {800, 256 + rng.below(kPageBytes), 16384, 700});
    ExtentList now = was;
    write_at_random(now, unit, rng.below(6), rng);
    const std::vector<ShownByte> then = bytes_of(was);
    std::vector<ShownByte> expected = bytes_of(now);
    for (std::uint32_t i = 0; i < plan.pieces.size(); ++i) {
      const CompactPiece& piece = plan.pieces[i];
      const Blob blob = written_again(i + 1, piece.length());
      std::uint64_t shown = 0;
      for (std::uint64_t at = 0; at < piece.length(); ++at) {
        ShownByte& byte = expected[piece.offset() + at];
        if (byte != then[piece.offset() + at]) continue;
        byte = {blob.id(), at, true};
        ++shown;
      }
      REQUIRE(show_instead(now, piece.from, blob) == shown);
      replaced += shown;
      late += piece.length() - shown;
    }
    REQUIRE(is_well_formed(now));
    REQUIRE((bytes_of(now) == expected));
  }
  CHECK(replaced > 100'000);
  CHECK(late > 10'000);
}

}  // namespace
}  // namespace hexad::core
