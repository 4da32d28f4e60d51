#include "core/clean/due_looks.h"

#include <catch2/catch.hpp>

using hexad::core::DueLooks;

namespace {

constexpr std::uint64_t kStripe = 800;
bool low() { return true; }
bool not_low() { return false; }

}  // namespace

TEST_CASE("due looks: by what has died, and sooner where little is left") {
  DueLooks looks;
  CHECK(looks.due(0, kStripe, not_low));
  looks.begin(50, kStripe, low);
  CHECK(looks.was_low());
  CHECK_FALSE(looks.due(50 + kStripe / 8 - 1, kStripe, low));
  CHECK_FALSE(looks.due(50 + kStripe / 8, kStripe, not_low));
  CHECK_FALSE(looks.due(50 + kStripe / 8 + 1, kStripe, low));  // asked just now
  CHECK(looks.due(50 + kStripe / 4, kStripe, low));
  CHECK(looks.due(50 + 2 * kStripe, kStripe, not_low));
}

TEST_CASE("due looks: a store at rest, and what counts as new") {
  DueLooks looks;
  CHECK_FALSE(looks.take_asked());
  looks.begin(300, kStripe, not_low);
  CHECK_FALSE(looks.was_low());
  looks.note_rest(300);
  CHECK_FALSE(looks.rest_due(300 + kStripe / 4 - 1, kStripe));
  CHECK(looks.rest_due(300 + kStripe / 4, kStripe));
  looks.ask_again();
  CHECK(looks.due(300, kStripe, not_low));
  CHECK(looks.rest_due(300, kStripe));
  CHECK(looks.take_asked());
  CHECK_FALSE(looks.take_asked());
}
