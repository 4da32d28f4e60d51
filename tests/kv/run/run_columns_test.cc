#include "kv/run/run_columns.h"

#include <catch2/catch.hpp>
#include <vector>

#include "io/rng.h"

namespace hexad::kv {
namespace {

TEST_CASE("run_columns: the first bytes come first, and short values end early") {
  const std::uint32_t sizes[] = {3, 0, 1, 5};
  REQUIRE(to_columns("abcABCDEF", sizes) == "aABbCcDEF");
  REQUIRE(from_columns("aABbCcDEF", sizes) == "abcABCDEF");
  REQUIRE(to_columns("", {}) == "");
  const std::uint32_t one[] = {4};
  REQUIRE(to_columns("abcd", one) == "abcd");
}

TEST_CASE("run_columns: values of any sizes come back") {
  const std::uint64_t seed = 61;
  CAPTURE(seed);
  io::Rng rng(seed);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint32_t> sizes(rng.below(30));
    std::string values;
    for (std::uint32_t& size : sizes) {
      size = static_cast<std::uint32_t>(rng.below(rng.chance(1, 10) ? 2000 : 20));
      for (std::uint32_t i = 0; i < size; ++i) values.push_back(static_cast<char>(rng.next()));
    }
    const std::string columns = to_columns(values, sizes);
    REQUIRE(columns.size() == values.size());
    REQUIRE(from_columns(columns, sizes) == values);
  }
}

}  // namespace
}  // namespace hexad::kv
