#include "tools/import_export/object_pieces.h"

#include <catch2/catch.hpp>

#include "base/units.h"
#include "tests/core/store_fixture.h"

namespace hexad::tools {
namespace {

using hexad::testing::noise;
using hexad::testing::StoreFixture;

std::vector<ObjectPiece> pieces(Store& store, const std::string& name, const ByteRange& range,
                                std::uint64_t at_most) {
  const std::uint64_t size = store.stat(kDefaultCollection, name)->size;
  ObjectPieces cut(store, kDefaultCollection, name, range, size, at_most);
  std::vector<ObjectPiece> found;
  for (;;) {
    const std::optional<ObjectPiece> piece = cut.next().value();
    if (!piece.has_value()) return found;
    found.push_back(*piece);
  }
}

TEST_CASE("object_pieces: data comes in pieces that fit, holes in one, and nothing twice") {
  StoreFixture fixture;
  Store store = fixture.open();
  Transaction t;
  const std::string first = noise(2500, 1);
  const std::string second = noise(700, 2);
  t.write(kDefaultCollection, "a", 1000, as_bytes(first));
  t.write(kDefaultCollection, "a", 10_GiB, as_bytes(second));
  t.truncate(kDefaultCollection, "a", 20_GiB);
  t.touch(kDefaultCollection, "empty");
  REQUIRE(store.commit(std::move(t)).ok());

  REQUIRE(pieces(store, "a", {0, kMaxObjectSize}, 1000) ==
          std::vector<ObjectPiece>{{0, 1000, true},
                                   {1000, 1000, false},
                                   {2000, 1000, false},
                                   {3000, 500, false},
                                   {3500, 10_GiB - 3500, true},
                                   {10_GiB, 700, false},
                                   {10_GiB + 700, 10_GiB - 700, true}});
  REQUIRE(pieces(store, "a", {1200, 2400}, 1 << 20) ==
          std::vector<ObjectPiece>{{1200, 2300, false}, {3500, 100, true}});
  REQUIRE(pieces(store, "a", {1200, 10}, 1 << 20) == std::vector<ObjectPiece>{{1200, 10, false}});
  REQUIRE(pieces(store, "a", {30_GiB, 10}, 10).empty());
  REQUIRE(pieces(store, "a", {5, 0}, 10).empty());
  REQUIRE(pieces(store, "empty", {0, kMaxObjectSize}, 10).empty());
}

TEST_CASE("object_pieces: an object that has gone is an error of the store") {
  StoreFixture fixture;
  Store store = fixture.open();
  ObjectPieces cut(store, kDefaultCollection, "none", {0, 10}, 10, 10);
  REQUIRE(cut.next().error().code == ErrorCode::kNotFound);
}

}  // namespace
}  // namespace hexad::tools
