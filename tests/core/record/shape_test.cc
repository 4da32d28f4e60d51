#include "core/record/shape.h"

#include <catch2/catch.hpp>
#include <vector>

namespace hexad::core {
namespace {

TEST_CASE("shape: stripes of any one size begin on all slots, none of them rarely") {
  // The example of doc/format.md#stripes.
  CHECK(stripe_rotation(300, 6) == 4);
  for (std::uint32_t cells = 2; cells <= 14; ++cells) {
    for (std::uint32_t units = 1; units <= 16; ++units) {
      CAPTURE(cells, units);
      std::vector<int> count(cells, 0);
      constexpr int kStripes = 2000;
      for (std::uint32_t i = 0; i < kStripes; ++i) ++count[stripe_rotation(1 + i * units, cells)];
      for (const int stripes : count) {
        CHECK(stripes > kStripes / static_cast<int>(cells) * 2 / 5);
        CHECK(stripes < kStripes / static_cast<int>(cells) * 3 / 2);
      }
    }
  }
}

}  // namespace
}  // namespace hexad::core
