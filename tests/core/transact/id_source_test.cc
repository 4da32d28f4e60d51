// Who draws ids asks for another epoch in time (ID1, ID2), and once.
#include "core/transact/id_source.h"

#include <catch2/catch.hpp>

namespace hexad::testing {
namespace {

using core::BodyIds;
using core::IdSource;

TEST_CASE("id_source: the one that draws the middle of an epoch asks for another") {
  int asked = 0;
  IdSource source([&] { ++asked; });
  source.ids().begin(7, BodyIds::kHalf - 2);
  source.draw();
  CHECK(asked == 0);
  source.draw();
  CHECK(asked == 1);
  source.draw();
  CHECK(asked == 1);
  CHECK(source.may_draw().ok());
  CHECK(asked == 1);
}

TEST_CASE("id_source: nobody begins to draw where few are left") {
  int asked = 0;
  IdSource source([&] { ++asked; });
  source.ids().begin(7, 0 - BodyIds::kKept - 1);
  CHECK(source.may_draw().ok());
  source.draw();
  const Status refused = source.may_draw();
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kExhausted);
  CHECK(asked == 1);
  // Whoever had begun goes on.
  source.draw();
  source.ids().begin(8);
  CHECK(source.may_draw().ok());
}

}  // namespace
}  // namespace hexad::testing
