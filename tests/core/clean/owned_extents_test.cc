#include "core/clean/owned_extents.h"

#include <catch2/catch.hpp>
#include <map>

#include "core/record/keys.h"
#include "tests/core/sample_records.h"

namespace hexad::core {
namespace {

const RecordShape kShape;

struct Map {
  std::map<std::string, std::string, std::less<>> values;
  GetValue get = [this](std::string_view key) -> Result<std::optional<std::string>> {
    const auto at = values.find(key);
    if (at == values.end()) return std::optional<std::string>();
    return std::optional<std::string>(at->second);
  };
};

ObjectRecord small_object() {
  ObjectRecord record;
  record.version = 7;
  record.size = 5;
  record.mtime = 12;
  record.attributes = {{"a", "b"}};
  record.extents = {inline_extent(0, "12345")};
  return record;
}

TEST_CASE("owned extents: an object keeps everything but its extents") {
  const std::string key = object_key(1, "name");
  ObjectRecord record = small_object();
  auto owned = OwnedExtents::decode(key, encode_object(record, kShape), kShape).value();
  REQUIRE(owned.has_value());
  CHECK(owned->encode(kShape) == encode_object(record, kShape));
  owned->extents() = {inline_extent(0, "abcde")};
  record.extents = owned->extents();
  CHECK(owned->encode(kShape) == encode_object(record, kShape));
}

TEST_CASE("owned extents: pages, entries of omaps, and entries that hide others") {
  const ExtentList page = {inline_extent(kPageSpan + 3, "abc")};
  auto owned = OwnedExtents::decode(page_key(5, 1), encode_page(page, kShape), kShape).value();
  REQUIRE(owned.has_value());
  CHECK(owned->extents() == page);
  CHECK(owned->encode(kShape) == encode_page(page, kShape));
  CHECK_FALSE(
      OwnedExtents::decode(omap_key(5, "k"), encode_hidden_entry(), kShape).value().has_value());
  CHECK_FALSE(OwnedExtents::decode(object_key(1, "n"), "nonsense", kShape).ok());
  CHECK_FALSE(OwnedExtents::decode(page_key(5, 1), "nonsense", kShape).ok());
}

TEST_CASE("owned extents: found under the owner's key, and in a page once the object has pages") {
  Map map;
  const std::string key = object_key(1, "name");
  CHECK_FALSE(find_extents(key, 0, kShape, map.get).value().has_value());
  map.values[key] = encode_object(small_object(), kShape);
  auto found = find_extents(key, 0, kShape, map.get).value();
  REQUIRE(found.has_value());
  CHECK(found->key == key);
  ObjectRecord large = small_object();
  large.size = 3 * kPageSpan;
  large.body = 9;
  large.extents.clear();
  map.values[key] = encode_object(large, kShape);
  CHECK_FALSE(find_extents(key, 0, kShape, map.get).value().has_value());
  map.values[page_key(9, 0)] = encode_page({inline_extent(0, "12345")}, kShape);
  found = find_extents(key, 77, kShape, map.get).value();
  REQUIRE(found.has_value());
  CHECK(found->key == page_key(9, 0));
  CHECK(found->list.extents().size() == 1);
  CHECK_FALSE(find_extents(key, kPageSpan, kShape, map.get).value().has_value());
  // A footer may say anything.
  CHECK_FALSE(find_extents("mcounters", 0, kShape, map.get).value().has_value());
}

}  // namespace
}  // namespace hexad::core
