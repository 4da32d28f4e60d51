#include "ec/shard_set.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace hexad::ec;

TEST_CASE("shard_set: holds what was put in and walks it in order") {
  ShardSet set{7, 0, 63};
  set.add(3);
  set.remove(0);
  std::vector<ShardIndex> members;
  for (ShardIndex i : set) members.push_back(i);
  CHECK(members == std::vector<ShardIndex>{3, 7, 63});
  CHECK(set.size() == 3);
  CHECK(set.contains(63));
  CHECK_FALSE(set.contains(0));
}

TEST_CASE("shard_set: indexes that do not fit are never members") {
  ShardSet set;
  set.add(64);
  set.add(0xffffffff);
  CHECK(set.empty());
  CHECK_FALSE(set.contains(64));
  CHECK(ShardSet::first(64).size() == 64);
  CHECK(ShardSet::first(0).empty());
}

TEST_CASE("shard_set: union, intersection and difference agree with one another") {
  const ShardSet a{0, 1, 2};
  const ShardSet b{2, 3};
  CHECK((a | b) == ShardSet{0, 1, 2, 3});
  CHECK((a & b) == ShardSet{2});
  CHECK((a - b) == ShardSet{0, 1});
  CHECK((a | b).includes(a));
  CHECK_FALSE(a.includes(b));
}
