#include "core/record/name_parts.h"

#include <catch2/catch.hpp>
#include <map>

#include "io/rng.h"

namespace hexad::core {
namespace {

const NameParts kPlain{{"", 1}};

TEST_CASE("name_parts: a name is in the last part that begins at or before it") {
  REQUIRE(space_of(kPlain, "") == 1);
  REQUIRE(space_of(kPlain, "\xff") == 1);
  const NameParts parts{{"", 1}, {"a/", 2}, {"a0", 3}};
  REQUIRE(space_of(parts, "a") == 1);
  REQUIRE(space_of(parts, "a/") == 2);
  REQUIRE(space_of(parts, "a/\xff\xff") == 2);
  REQUIRE(space_of(parts, "a0") == 3);
  REQUIRE(space_of(parts, std::string(kMaxNameSize, '\xff')) == 3);
}

TEST_CASE("name_parts: the keys of a range are those of its names in its space") {
  const NameRange range{7, "a", "b"};
  REQUIRE(range.has_key(object_key(7, "a")));
  REQUIRE(range.has_key(object_key(7, "a\xff")));
  REQUIRE_FALSE(range.has_key(object_key(7, "b")));
  REQUIRE_FALSE(range.has_key(object_key(7, "A")));
  REQUIRE_FALSE(range.has_key(object_key(6, "a")));
  REQUIRE_FALSE(range.has_key(""));
  for (const CollectionId space : {1u, 0xffu, 0xffffffffu}) {
    const NameRange all{space, "", ""};
    REQUIRE(all.has_key(object_key(space, std::string(1, '\0'))));
    REQUIRE(all.has_key(object_key(space, std::string(kMaxNameSize, '\xff'))));
    REQUIRE_FALSE(all.has_key(object_key(space - 1, "x")));
    REQUIRE_FALSE(all.has_key(omap_key(1, "x")));
  }
}

TEST_CASE("name_parts: ranges are cut to what is asked for, and neighbours of one space joined") {
  const NameParts parts{{"", 1}, {"b", 2}, {"d", 3}};
  REQUIRE(ranges_of(parts) == std::vector<NameRange>{{1, "", "b"}, {2, "b", "d"}, {3, "d", ""}});
  REQUIRE(ranges_of(parts, "c", "c5") == std::vector<NameRange>{{2, "c", "c5"}});
  REQUIRE(ranges_of(parts, "b", "d") == std::vector<NameRange>{{2, "b", "d"}});
  REQUIRE(ranges_of(parts, "a", "b") == std::vector<NameRange>{{1, "a", "b"}});
  REQUIRE(ranges_of(parts, "c") == std::vector<NameRange>{{2, "c", "d"}, {3, "d", ""}});
  REQUIRE(ranges_of(parts, "x", "a").empty());
  REQUIRE(ranges_of(parts, "x", "x").empty());
  REQUIRE(joined(ranges_of(parts)) == parts);
  REQUIRE(joined({{1, "", "b"}, {1, "b", "c"}, {2, "c", ""}}) == NameParts{{"", 1}, {"c", 2}});
}

// What is exchanged twice is as it was, and every name is where a map of single names says.
TEST_CASE("name_parts: random ranges exchanged between two collections agree with single names") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    io::Rng rng(seed);
    std::vector<std::string> names;
    for (const char first : {'a', 'b', 'c', '\xff'}) {
      for (const char* rest : {"", "a", "b", "\xff"}) names.push_back(first + std::string(rest));
    }
    NameParts one = kPlain;
    NameParts two{{"", 2}};
    std::map<std::string, std::pair<CollectionId, CollectionId>> model;
    for (const std::string& name : names) model[name] = {1, 2};
    for (int step = 0; step < 60; ++step) {
      std::string from = rng.chance(1, 5) ? "" : names[rng.below(names.size())];
      std::string end = rng.chance(1, 5) ? "" : names[rng.below(names.size())];
      if (!end.empty() && end < from) std::swap(from, end);
      if (from == end && !end.empty()) continue;
      NameParts new_one = with_range_of(one, two, from, end);
      NameParts new_two = with_range_of(two, one, from, end);
      REQUIRE(with_range_of(new_one, new_two, from, end) == one);
      one = std::move(new_one);
      two = std::move(new_two);
      for (auto& [name, spaces] : model) {
        if (name >= from && (end.empty() || name < end)) std::swap(spaces.first, spaces.second);
        REQUIRE(space_of(one, name) == spaces.first);
        REQUIRE(space_of(two, name) == spaces.second);
      }
    }
  }
}

}  // namespace
}  // namespace hexad::core
