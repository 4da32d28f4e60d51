#include "ec/shard_subsets.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <vector>

namespace hexad::ec {
namespace {

std::vector<std::uint64_t> all_subsets(ShardSet of, std::uint32_t size) {
  std::vector<std::uint64_t> found;
  for (ShardSubsets walk(of, size); !walk.done(); walk.next()) found.push_back(walk.get().bits());
  return found;
}

TEST_CASE("shard_subsets: every subset of the size comes exactly once, in ascending order") {
  for (std::uint64_t bits = 0; bits < 1 << 9; ++bits) {
    const ShardSet of = ShardSet::from_bits(bits << 3 | (bits & 1) << 40);
    for (std::uint32_t size = 0; size <= of.size() + 1; ++size) {
      const std::vector<std::uint64_t> found = all_subsets(of, size);
      REQUIRE(std::is_sorted(found.begin(), found.end()));
      REQUIRE(std::set(found.begin(), found.end()).size() == found.size());
      std::uint64_t choose = size > of.size() ? 0 : 1;
      for (std::uint32_t i = 0; choose > 0 && i < size; ++i) {
        choose = choose * (of.size() - i) / (i + 1);
      }
      REQUIRE(found.size() == choose);
      for (const std::uint64_t one : found) {
        REQUIRE(of.includes(ShardSet::from_bits(one)));
        REQUIRE(ShardSet::from_bits(one).size() == size);
      }
    }
  }
}

TEST_CASE("shard_subsets: a full word ends like any other") {
  REQUIRE(all_subsets(ShardSet::first(64), 64).size() == 1);
  REQUIRE(all_subsets(ShardSet::first(64), 63).size() == 64);
  REQUIRE(all_subsets(ShardSet::first(64), 1).size() == 64);
  REQUIRE(all_subsets(ShardSet::first(64), 0).size() == 1);
}

}  // namespace
}  // namespace hexad::ec
