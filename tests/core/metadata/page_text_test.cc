#include "core/metadata/page_text.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/rng.h"

namespace hexad::core {
namespace {

TEST_CASE("page_text: names of all sizes stay what they are and where they are") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    io::Rng rng(seed);
    PageText text;
    std::vector<std::string> names;
    std::vector<std::string_view> added;
    for (int i = 0; i < 5000; ++i) {
      const std::uint64_t longest = rng.chance(1, 100) ? 3000 : 60;  // some longer than a piece
      names.emplace_back(1 + rng.below(longest), static_cast<char>(rng.next()));
      added.push_back(text.add(names.back()));
    }
    const std::shared_ptr<const void> owner = text.take();
    REQUIRE(std::equal(names.begin(), names.end(), added.begin(), added.end()));
  }
}

TEST_CASE("page_text: without names there is nothing to own") {
  REQUIRE(PageText().take() == nullptr);
}

}  // namespace
}  // namespace hexad::core
