#include "core/plan/prepared.h"

#include <catch2/catch.hpp>

#include "tests/core/prepared_blobs.h"

namespace hexad::core {
namespace {

using testing::check_cells;
using testing::check_unplaced;
using testing::PreparerFixture;

TEST_CASE("prepared: payloads are cut at page boundaries, and small ones are inline") {
  PreparerFixture f;
  const auto cut = [&](std::size_t size, std::uint64_t base, Inlining inlining) {
    const std::string payload = f.bytes(size);
    const PreparedOp op =
        prepare_payload(f.preparer(), as_bytes(payload), Hint::kNone, {}, base, inlining).value();
    REQUIRE(op.base == base);
    std::uint64_t at = base;
    std::vector<std::uint64_t> lengths;
    for (const PayloadPiece& piece : op.pieces) {
      REQUIRE(piece.offset == at);
      REQUIRE(piece.length > 0);
      REQUIRE(piece.offset / kPageSpan == (piece.offset + piece.length - 1) / kPageSpan);
      const std::string_view part = std::string_view(payload).substr(at - base, piece.length);
      const bool is_inline = !piece.bytes.empty();
      REQUIRE(is_inline == (size <= kInlineLimit && inlining == Inlining::kOfSmall));
      if (is_inline) {
        REQUIRE(piece.bytes == part);
      } else if (piece.prepared.is_unplaced()) {
        check_unplaced(piece.prepared, part, f);
      } else {
        check_cells(piece.prepared, part, f);
      }
      at += piece.length;
      lengths.push_back(piece.length);
    }
    REQUIRE(at == base + size);
    return lengths;
  };
  using Lengths = std::vector<std::uint64_t>;
  CHECK(cut(256, 0, Inlining::kOfSmall) == Lengths{256});
  CHECK(cut(257, 0, Inlining::kOfSmall) == Lengths{257});
  CHECK(cut(10, 0, Inlining::kOfNone) == Lengths{10});
  CHECK(cut(200, kPageSpan - 100, Inlining::kOfSmall) == Lengths{100, 100});
  CHECK(cut(5000, kPageSpan - 1, Inlining::kOfSmall) == Lengths{1, 4999});
  CHECK(cut(3 * kPageSpan, 5 * kPageSpan, Inlining::kOfSmall) ==
        Lengths{kPageSpan, kPageSpan, kPageSpan});
  CHECK(cut(2 * kPageSpan, 7, Inlining::kOfSmall) == Lengths{kPageSpan - 7, kPageSpan, 7});
  CHECK(cut(0, 7, Inlining::kOfSmall).empty());
}

TEST_CASE("prepared: the hint and the policy decide about compression, piece by piece") {
  PreparerFixture f;
  const std::string payload(5000, 'x');
  compression::Policy policy;
  policy.mode = compression::Mode::kPassive;  // only what is said to be compressible
  const auto compressed = [&](Hint hint) {
    const PreparedOp op = prepare_payload(f.preparer(), as_bytes(payload), hint, policy,
                                          kPageSpan - 2500, Inlining::kOfSmall)
                              .value();
    REQUIRE(op.pieces.size() == 2);
    const bool first = op.pieces[0].prepared.blob.is_compressed();
    REQUIRE(op.pieces[1].prepared.blob.is_compressed() == first);
    return first;
  };
  REQUIRE(compressed(Hint::kCompressible));
  REQUIRE_FALSE(compressed(Hint::kNone));
  REQUIRE_FALSE(compressed(Hint::kIncompressible));
  policy.mode = compression::Mode::kAggressive;  // all but what is said not to be
  REQUIRE(compressed(Hint::kCompressible));
  REQUIRE(compressed(Hint::kNone));
  REQUIRE_FALSE(compressed(Hint::kIncompressible));
}

// They would find no run again, and be cut in the same places for ever.
TEST_CASE("prepared: no part of a piece that is cut is longer than it may be") {
  PreparerFixture f;
  compression::Policy policy;
  policy.mode = compression::Mode::kForce;
  const std::string payload = f.bytes(300'000) + std::string(kPageSpan - 300'000, 'x');
  for (const std::uint32_t most_units : {16U, 4U, 1U}) {
    CAPTURE(most_units);
    const PreparedOp op = prepare_payload(f.preparer(), as_bytes(payload), Hint::kNone, policy, 0,
                                          Inlining::kOfNone, nullptr, most_units)
                              .value();
    std::uint64_t at = 0;
    for (const PayloadPiece& piece : op.pieces) {
      REQUIRE(piece.offset == at);
      REQUIRE(piece.length == piece.prepared.blob.raw);
      REQUIRE(piece.prepared.units <= most_units);
      at += piece.length;
    }
    REQUIRE(at == payload.size());
    CHECK(op.pieces.back().prepared.blob.is_compressed());
  }
}

TEST_CASE("prepared: a changed page is noted wherever a copy shows it, as far as that has come") {
  CopiedPages copied{1, 2};
  copied.until = 10;
  copied.note_change(9);
  copied.note_change(10);
  CHECK(copied.stale == std::set<std::uint32_t>{9});
  // Across two pages each.
  CopiedPages range{1, 2, {5 * kPageSpan, 20 * kPageSpan, 7 * kPageSpan + 1}};
  range.until = 12;
  range.note_change(4);
  CHECK(range.stale.empty());
  range.note_change(5);
  CHECK(range.stale == std::set<std::uint32_t>{7, 8});
  range.note_change(9);
  CHECK(range.stale == std::set<std::uint32_t>{7, 8, 11});
  range.until = kEndOfPages;
  range.note_change(24);
  range.note_change(25);
  CHECK(range.stale == std::set<std::uint32_t>{7, 8, 11, 26, 27});
}

}  // namespace
}  // namespace hexad::core
