#include "alloc/max_tree.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "io/rng.h"

using namespace hexad;
using namespace hexad::alloc;

TEST_CASE("max_tree: finds what a scan finds, at every size and start") {
  io::Rng rng(7);
  MaxTree tree;
  std::vector<std::uint32_t> model;
  CHECK(!tree.find(0, 0));
  CHECK(tree.max() == 0);
  for (int step = 0; step < 70; ++step) {
    const auto value = static_cast<std::uint32_t>(rng.below(10));
    tree.push_back(value);
    model.push_back(value);
    const std::size_t changed = rng.below(model.size());
    model[changed] = static_cast<std::uint32_t>(rng.below(10));
    tree.set(changed, model[changed]);
    REQUIRE(tree.max() == *std::max_element(model.begin(), model.end()));
    for (std::size_t from = 0; from <= model.size(); ++from) {
      for (std::uint32_t least = 0; least <= 10; ++least) {
        std::optional<std::size_t> expected;
        for (std::size_t i = model.size(); i-- > from;) {
          if (model[i] >= least) expected = i;
        }
        CAPTURE(step, from, least);
        REQUIRE(tree.find(from, least) == expected);
      }
    }
  }
}
