#include "ec/stripe_layout.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

using namespace hexad;
using namespace hexad::ec;

TEST_CASE("stripe_layout: roles and slots are inverse for every rotation, and each slot has one") {
  for (std::uint32_t k = 1; k <= 8; ++k) {
    for (std::uint32_t m = 1; m <= 4; ++m) {
      for (std::uint32_t rotation = 0; rotation <= 2 * (k + m); ++rotation) {
        const StripeGeometry stripe{k, m, rotation};
        std::set<std::uint32_t> slots;
        for (std::uint32_t role = 0; role < k + m; ++role) {
          const std::uint32_t slot = slot_of_role(stripe, role);
          REQUIRE(slot == (role + rotation) % (k + m));
          REQUIRE(role_of_slot(stripe, slot) == role);
          slots.insert(slot);
        }
        REQUIRE(slots.size() == k + m);
      }
    }
  }
  // The sum of role and rotation would not fit.
  const StripeGeometry stripe{4, 2, 0xffffffff};
  CHECK(role_of_slot(stripe, slot_of_role(stripe, 5)) == 5);
}

TEST_CASE("stripe_layout: over n rotations every role visits every slot once") {
  for (std::uint32_t role = 0; role < 6; ++role) {
    std::set<std::uint32_t> slots;
    for (std::uint32_t rotation = 0; rotation < 6; ++rotation) {
      slots.insert(slot_of_role({4, 2, rotation}, role));
    }
    CHECK(slots.size() == 6);
  }
}

TEST_CASE("stripe_layout: a cell is the shortest number of blocks that holds its share") {
  for (std::uint64_t block : {1, 3, 8, 18}) {
    for (std::uint32_t k = 1; k <= 6; ++k) {
      CHECK(cell_bytes(0, k, block) == 0);
      for (std::uint64_t length = 1; length <= 200; ++length) {
        const std::uint64_t cell = cell_bytes(length, k, block);
        CAPTURE(block, k, length, cell);
        REQUIRE(cell % block == 0);
        REQUIRE(k * cell >= length);
        REQUIRE((cell - block) * k < length);
      }
    }
  }
  CHECK(cell_bytes(256 * 1024, 4, 4096) == 65536);
  CHECK(cell_bytes(256 * 1024 + 1, 4, 4096) == 65536 + 4096);
}

TEST_CASE("stripe_layout: the pieces of every small range are the bytes of that range in order") {
  for (std::uint32_t k = 1; k <= 4; ++k) {
    for (std::uint64_t cell = 0; cell <= 5; ++cell) {
      for (std::uint64_t offset = 0; offset <= k * cell; ++offset) {
        for (std::uint64_t length = 0; length <= k * cell - offset; ++length) {
          const Result<std::vector<CellPiece>> pieces = map_range(k, cell, offset, length);
          REQUIRE(pieces.ok());
          REQUIRE(pieces->size() <= k);
          std::uint64_t at = offset;
          for (const CellPiece& piece : *pieces) {
            REQUIRE(piece.length > 0);
            REQUIRE(piece.stream_offset == at);
            REQUIRE(piece.role * cell + piece.offset == at);
            REQUIRE(piece.offset + piece.length <= cell);
            at += piece.length;
          }
          REQUIRE(at == offset + length);
        }
        CHECK_FALSE(map_range(k, cell, offset, k * cell - offset + 1).ok());
      }
    }
  }
}

TEST_CASE("stripe_layout: ranges that would wrap around are refused") {
  const std::uint64_t huge = ~std::uint64_t{0};
  CHECK_FALSE(map_range(4, 4096, huge, 2).ok());
  CHECK_FALSE(map_range(4, 4096, 1, huge).ok());
  CHECK_FALSE(map_range(4, huge, 0, 1).ok());
  CHECK_FALSE(map_range(0, 4096, 0, 1).ok());
  CHECK(map_range(4, 4096, 0, 4 * 4096 + 1).error().code == ErrorCode::kInvalidArgument);
}
