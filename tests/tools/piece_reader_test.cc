#include "tools/import_export/piece_reader.h"

#include <catch2/catch.hpp>

#include "base/units.h"
#include "tests/core/store_fixture.h"

namespace hexad::tools {
namespace {

using hexad::testing::code_of;
using hexad::testing::noise;
using hexad::testing::StoreFixture;

constexpr const char* kC = kDefaultCollection;

TEST_CASE("piece_reader: an object comes in order and whole, its holes as holes") {
  StoreFixture fixture;
  Store store = fixture.open();
  const auto executor = io::make_thread_executor(4);
  const std::string first = noise(50'000, 1);
  const std::string second = noise(3000, 2);
  Transaction t;
  t.write(kC, "a", 1000, as_bytes(first));
  t.write(kC, "a", 10_GiB, as_bytes(second));
  t.truncate(kC, "a", 11_GiB);
  t.touch(kC, "empty");
  REQUIRE(store.commit(std::move(t)).ok());

  PieceReader pieces(store, *executor, kC, "a", 11_GiB, 4096);
  std::uint64_t at = 0;
  std::string found;
  std::uint64_t holes = 0;
  for (;;) {
    const std::optional<PieceReader::Piece> piece = pieces.next().value();
    if (!piece.has_value()) break;
    REQUIRE(piece->where.offset == at);
    REQUIRE(piece->data.size() == (piece->where.hole ? 0 : piece->where.length));
    REQUIRE(piece->data.size() <= 4096);
    if (piece->where.hole) holes += piece->where.length;
    found += as_text(piece->data);
    at = piece->where.end();
  }
  CHECK(at == 11_GiB);
  CHECK(holes == 11_GiB - 53'000);
  CHECK(found == first + second);

  PieceReader nothing(store, *executor, kC, "empty", 0);
  CHECK_FALSE(nothing.next()->has_value());
}

TEST_CASE("piece_reader: what cannot be read is an error, and so is an object that has shrunk") {
  StoreFixture fixture;
  Store store = fixture.open();
  const auto executor = io::make_thread_executor(4);
  PieceReader missing(store, *executor, kC, "a", 10);
  CHECK(code_of(missing.next()) == ErrorCode::kNotFound);

  Transaction t;
  t.put(kC, "a", as_bytes(noise(10'000, 1)));
  REQUIRE(store.commit(std::move(t)).ok());
  PieceReader shrinking(store, *executor, kC, "a", 10'000, 1000);
  REQUIRE(shrinking.next()->has_value());  // the extents of all of it are known now
  Transaction cut;
  cut.truncate(kC, "a", 4500);
  REQUIRE(store.commit(std::move(cut)).ok());
  std::optional<ErrorCode> code;
  for (int i = 1; i < 10 && !code.has_value(); ++i) code = code_of(shrinking.next());
  CHECK(code == ErrorCode::kConflict);
  // Dropped with reads under way: nothing waits for them but the reader itself.
}

}  // namespace
}  // namespace hexad::tools
