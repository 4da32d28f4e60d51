#include "core/space/promised_units.h"

#include <catch2/catch.hpp>

using hexad::core::PromisedUnits;

TEST_CASE("promised units: only blobs of more than one unit need theirs in a row") {
  CHECK(PromisedUnits(0) == PromisedUnits());
  CHECK(PromisedUnits(1).units == 1);
  CHECK(PromisedUnits(1).in_runs == 0);
  CHECK(PromisedUnits(3).units == 3);
  CHECK(PromisedUnits(3).in_runs == 3);
  const PromisedUnits both = PromisedUnits(1) + PromisedUnits(3);
  CHECK(both.units == 4);
  CHECK(both.in_runs == 3);
  CHECK(both - PromisedUnits(3) == PromisedUnits(1));
  CHECK(both.includes(PromisedUnits(3)));
  CHECK_FALSE(both.includes(PromisedUnits(4)));
  CHECK_FALSE(PromisedUnits(1).includes(PromisedUnits(3)));
}
