#include "core/plan/owners.h"

#include <catch2/catch.hpp>
#include <string>

#include "core/record/keys.h"
#include "tests/core/plan/planner_world.h"

namespace hexad::core {
namespace {

using testing::MapSource;

Extent shown(ShareId share, std::uint32_t unit) {
  Extent extent;
  extent.length = 100;
  extent.blob.where = {1, unit, 2};
  extent.blob.raw = extent.blob.stored = 100;
  extent.blob.share = share;
  return extent;
}

// Makes the images true.
void apply(const LogRecord& record, MapSource& source) {
  for (const PostImage& image : record.images) {
    if (image.value.has_value()) {
      source.map[image.key] = *image.value;
    } else {
      REQUIRE(source.map.erase(image.key) == 1);
    }
  }
}

LogRecord change(MapSource& source, const ExtentList& before, const ExtentList& now) {
  LogRecord record;
  BlobOwners owners;
  owners.change(before, now, record);
  REQUIRE(owners.finish(source, record).ok());
  apply(record, source);
  return record;
}

TEST_CASE("owners: what was never shared dies at once, without a look-up") {
  MapSource source;
  source.fails = true;
  LogRecord record;
  BlobOwners owners;
  owners.change({shown(0, 5)}, {shown(0, 7)}, record);
  CHECK(record.freed == std::vector<alloc::Extent>{{1, 5, 2}});
  REQUIRE(owners.finish(source, record).ok());
  CHECK(record.images.empty());
}

TEST_CASE("owners: a shared blob dies with its last owner, and has a record while it has two") {
  MapSource source;
  const ExtentList list = {shown(9, 5)};
  {
    LogRecord record;
    BlobOwners owners;
    owners.note(list);
    owners.change({}, list, record);
    REQUIRE(owners.finish(source, record).ok());
    apply(record, source);
  }
  CHECK(decode_owners(source.map.at(share_key(9))).value() == 2);
  CHECK(change(source, list, list).images.empty());
  CHECK(change(source, list, {}).freed.empty());
  CHECK(source.map.empty());
  CHECK(change(source, list, {}).freed.size() == 1);
  CHECK(source.map.empty());
}

TEST_CASE("owners: a new blob has as many owners as lists show it") {
  for (int lists = 0; lists < 4; ++lists) {
    MapSource source;
    LogRecord record;
    BlobOwners owners;
    for (int i = 0; i < lists; ++i) owners.change({}, {shown(9, 5)}, record);
    REQUIRE(owners.finish(source, record).ok());
    apply(record, source);
    CHECK(source.map.count(share_key(9)) == (lists > 1 ? 1 : 0));
    CHECK(record.freed.empty());
  }
}

TEST_CASE("owners: more than there are cannot go") {
  MapSource source;
  LogRecord record;
  BlobOwners owners;
  for (int i = 0; i < 2; ++i) owners.change({shown(9, 5)}, {}, record);
  CHECK(owners.finish(source, record).error().code == ErrorCode::kCorruption);
  LayerOwners layers;
  layers.change({7}, -1);
  CHECK(layers.finish(source, record).error().code == ErrorCode::kCorruption);
}

TEST_CASE("owners: a name by transaction and one by place are one blob, and the place is freed") {
  MapSource source;
  Extent young = shown(9, 0);
  young.blob.where = {};
  young.blob.placement = Placement::kLog;
  young.blob.log = {5, 1};
  CHECK(change(source, {young}, {shown(9, 5)}).images.empty());
  const LogRecord record = change(source, {young, shown(9, 5)}, {});
  CHECK(record.young_deaths.size() + record.freed.size() == 1);
}

TEST_CASE("owners: a layer is doomed with the last object that has it") {
  MapSource source;
  const auto with = [&](const std::vector<OmapId>& layers, int owners) {
    LogRecord record;
    LayerOwners changes;
    changes.change(layers, owners);
    const std::vector<OmapId> gone = changes.finish(source, record).value();
    apply(record, source);
    return gone;
  };
  CHECK(with({7, 8}, 2).empty());
  CHECK(with({7}, -1).empty());
  CHECK(decode_owners(source.map.at(layer_key(7))).value() == 1);
  CHECK(with({7}, -1) == std::vector<OmapId>{7});
  CHECK(source.map.count(writer_key(7)) == 1);
  CHECK(source.map.count(layer_key(7)) == 0);
  CHECK(source.map.count(layer_key(8)) == 1);
  CHECK(with({8}, 0).empty());
}

}  // namespace
}  // namespace hexad::core
