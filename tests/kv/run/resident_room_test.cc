// Room and memory of pieces of runs that change while they are used. kv/run/resident_room.cc
#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>

#include "base/units.h"
#include "io/rng.h"
#include "kv/run/resident_pieces.h"
#include "tests/base/campaign.h"
#include "tests/kv/run/resident_world.h"

namespace hexad::kv {
namespace {

using namespace testing;

std::uint64_t right_ones(ResidentPieces& pieces, std::uint64_t from, std::uint64_t to) {
  std::uint64_t right = 0;
  for (std::uint64_t i = from; i < to; ++i) {
    const std::optional<Bytes> found = read(pieces, 1, i * kPiece);
    if (!found.has_value()) continue;
    REQUIRE((*found == content(1, i * kPiece, kPiece)));
    ++right;
  }
  return right;
}

TEST_CASE("resident pieces: more room keeps what there is, and takes more at once") {
  World w;
  REQUIRE(w.pieces.give_room(1_MiB).ok());
  for (std::uint64_t i = 0; i < 230; ++i) offer(w.pieces, 1, i * kPiece);
  const std::uint64_t before = right_ones(w.pieces, 0, 230);
  REQUIRE(before > 180);
  REQUIRE(w.pieces.change_room(3_MiB).ok());
  REQUIRE(w.pieces.room() == 3_MiB);
  w.pieces.check_invariants();
  REQUIRE(right_ones(w.pieces, 0, 230) == before);
  // What is asked for once is kept, since no segment has had that room.
  for (std::uint64_t i = 1000; i < 1380; ++i) offer(w.pieces, 1, i * kPiece);
  REQUIRE(right_ones(w.pieces, 1000, 1380) == 380);
  REQUIRE(right_ones(w.pieces, 0, 230) == before);
  w.pieces.check_invariants();
}

TEST_CASE("resident pieces: of less room the newest keeps its place, and space goes back") {
  World w;
  REQUIRE(w.pieces.give_room(4_MiB).ok());
  for (std::uint64_t i = 0; i < 800; ++i) offer(w.pieces, 1, i * kPiece);
  REQUIRE(w.pieces.change_room(1_MiB).ok());
  REQUIRE(w.pieces.room() == 1_MiB);
  w.pieces.check_invariants();
  REQUIRE(right_ones(w.pieces, 600, 800) == 200);
  REQUIRE(w.pieces.usage().bytes <= 1_MiB + 256_KiB);
  // Discarded: in memory that reads as zeros.
  const auto media = w.system.media(kPath);
  Bytes all(media->size());
  media->read(0, all);
  std::uint64_t zeros = 0;
  for (std::uint64_t at = 0; at < all.size(); at += 4096) {
    zeros += is_zero(ByteView(all).subspan(at, 4096)) ? 4096 : 0;
  }
  REQUIRE(zeros >= 3_MiB - 256_KiB);
  // And the same room again, of slots that were given back, without a longer file.
  REQUIRE(w.pieces.change_room(4_MiB).ok());
  REQUIRE(w.pieces.room() == 4_MiB);
  REQUIRE(w.system.media(kPath)->size() == media->size());
  REQUIRE(right_ones(w.pieces, 600, 800) == 200);
  for (std::uint64_t i = 1000; i < 1570; ++i) offer(w.pieces, 1, i * kPiece);
  REQUIRE(right_ones(w.pieces, 1000, 1570) == 570);
  w.pieces.check_invariants();
  // What its segments do not fit in is another file, or none.
  REQUIRE(w.pieces.change_room(512_KiB).ok());
  REQUIRE(w.pieces.room() == 512_KiB);
  REQUIRE(w.pieces.change_room(100 << 10).error().code == ErrorCode::kNoSpace);
  REQUIRE(w.pieces.room() == 0);
}

TEST_CASE("resident pieces: the table changes at once, and what it can know of stays") {
  World w;
  std::uint64_t told = 0;
  w.pieces.tell_memory([&](std::uint64_t bytes) { told = bytes; });
  REQUIRE(w.pieces.give_room(4_MiB).ok());
  for (std::uint64_t i = 0; i < 800; ++i) offer(w.pieces, 1, i * kPiece);
  const std::uint64_t usual = w.pieces.usage().memory;
  REQUIRE(told == usual);
  // 512 entries, 384 of which may be taken.
  w.pieces.set_most_memory(8 << 10);
  w.pieces.check_invariants();
  REQUIRE(w.pieces.usage().memory < usual);
  REQUIRE(told == w.pieces.usage().memory);
  const std::uint64_t stay = right_ones(w.pieces, 0, 800);
  REQUIRE(stay > 250);
  REQUIRE(stay <= 384);
  REQUIRE(right_ones(w.pieces, 800 - 250, 800) == 250);
  // The file follows, and what it has yet is what it had.
  REQUIRE(w.pieces.change_room(4_MiB).ok());
  REQUIRE(w.pieces.room() == 1536_KiB);
  REQUIRE(right_ones(w.pieces, 0, 800) == stay);
  w.pieces.set_most_memory(kTable);
  REQUIRE(w.pieces.change_room(4_MiB).ok());
  REQUIRE(w.pieces.room() == 4_MiB);
  REQUIRE(told == usual);
  REQUIRE(right_ones(w.pieces, 0, 800) == stay);
  for (std::uint64_t i = 1000; i < 1400; ++i) offer(w.pieces, 1, i * kPiece);
  REQUIRE(right_ones(w.pieces, 1000, 1400) == 400);
  w.pieces.take_room();
  REQUIRE(told == 0);
}

TEST_CASE("resident pieces: whatever size it has had, what is found is what was offered") {
  World w;
  io::Rng rng(::hexad::testing::campaign_seed_of(77));
  REQUIRE(w.pieces.give_room(1_MiB).ok());
  for (int i = 0; i < 30'000; ++i) {
    const std::uint64_t run = 1 + rng.below(4);
    const std::uint64_t offset = rng.below(rng.chance(1, 2) ? 100 : 1000) * kPiece;
    if (rng.chance(2, 3)) offer(w.pieces, run, offset);
    const std::optional<Bytes> found = read(w.pieces, run, offset);
    if (found.has_value()) REQUIRE((*found == content(run, offset, kPiece)));
    if (!rng.chance(1, 100)) continue;
    switch (rng.below(5)) {
      case 0:
        w.pieces.set_most_memory((2 << 10) << rng.below(8));
        break;
      case 1:
      case 2:
        w.pieces.change_room((1 + rng.below(24)) * 256_KiB).ignore();
        break;
      case 3:
        w.pieces.end_run(run);
        break;
      default:
        if (rng.chance(1, 10)) w.pieces.give_room((1 + rng.below(8)) * 512_KiB).ignore();
        break;
    }
    w.pieces.check_invariants();
  }
  REQUIRE(w.pieces.tally().hits > 5000);
  REQUIRE(w.pieces.tally().errors == 0);
}

TEST_CASE("resident pieces: while its device does not answer it does not become longer") {
  SimWorld w;
  w.system.run([&] {
    {
      ResidentPieces pieces(w.system, kPath, kTable);
      REQUIRE(pieces.give_room(1_MiB).ok());
      w.system.disk(kPath).inject({.kind = io::FaultKind::kHang});
      for (std::uint64_t i = 0; i < 30; ++i) offer(pieces, 1, i * kPiece);
      const io::Nanos before = w.system.clock().now();
      REQUIRE(pieces.change_room(2_MiB).ok());
      REQUIRE(w.system.clock().now() - before <= 2 * ResidentPieces::kPatience);
      REQUIRE(pieces.room() == 1_MiB);
      REQUIRE(is_right(pieces, 1, 0));  // in memory
      // Less is, whether its space comes back or not.
      REQUIRE(pieces.change_room(512_KiB).ok());
      REQUIRE(pieces.room() == 512_KiB);
      pieces.check_invariants();
      w.system.disk(kPath).release_hung();
      w.system.executor().sleep_for(10'000'000);
      REQUIRE(pieces.change_room(2_MiB).ok());
      REQUIRE(pieces.room() == 2_MiB);
      for (std::uint64_t i = 100; i < 300; ++i) {
        offer(pieces, 1, i * kPiece);
        w.system.executor().sleep_for(1'000'000);
      }
      REQUIRE(is_right(pieces, 1, 150 * kPiece));
      pieces.check_invariants();
    }
    w.system.queue().wait_for_abandoned();
  });
}

}  // namespace
}  // namespace hexad::kv
