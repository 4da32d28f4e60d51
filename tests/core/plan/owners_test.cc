#include "core/plan/owners.h"

#include <catch2/catch.hpp>
#include <string>

#include "core/record/keys.h"
#include "tests/core/plan/planner_world.h"

namespace hexad::core {
namespace {

using testing::MapSource;

constexpr ListName kList{"o0000a"};
constexpr ListName kOther{"o0000b"};

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

LogRecord change(MapSource& source, const ExtentList& before, ExtentList now) {
  LogRecord record;
  BlobOwners owners;
  owners.change(kList, before, kList, now, record);
  REQUIRE(owners.finish(source, record).ok());
  apply(record, source);
  return record;
}

TEST_CASE("owners: what was never shared dies at once, without a look-up") {
  MapSource source;
  source.fails = true;
  LogRecord record;
  BlobOwners owners;
  ExtentList now = {shown(0, 7)};
  owners.change(kList, {shown(0, 5)}, kList, now, record);
  CHECK(record.freed == std::vector<alloc::Extent>{{1, 5, 2}});
  REQUIRE(owners.finish(source, record).ok());
  CHECK(record.images.empty());
}

TEST_CASE("owners: a shared blob dies with its last owner, and has a record while it has two") {
  MapSource source;
  ExtentList list = {shown(9, 5)};
  {
    LogRecord record;
    BlobOwners owners;
    owners.note(list);
    owners.change({}, {}, kList, list, record);
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
    for (int i = 0; i < lists; ++i) {
      ExtentList now = {shown(9, 5)};
      owners.change({}, {}, kList, now, record);
    }
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
  for (int i = 0; i < 2; ++i) owners.give_up(kList, {shown(9, 5)}, record);
  CHECK(owners.finish(source, record).error().code == ErrorCode::kCorruption);
  LayerOwners layers;
  layers.change({7}, -1);
  CHECK(layers.finish(source, record).error().code == ErrorCode::kCorruption);
}

TEST_CASE("owners: a name by transaction and one by place are one blob, and the place is freed") {
  MapSource source;
  Extent unplaced = shown(9, 0);
  unplaced.blob.where = {};
  unplaced.blob.placement = Placement::kLog;
  unplaced.blob.log = {5, 1};
  CHECK(change(source, {unplaced}, {shown(9, 5)}).images.empty());
  const LogRecord record = change(source, {unplaced, shown(9, 5)}, {});
  CHECK(record.unplaced_releases.size() + record.freed.size() == 1);
}

Extent packed(ShareId share, std::uint32_t unit, std::uint32_t cell) {
  Extent extent = shown(share, unit);
  extent.offset = cell * 100;
  extent.blob.placement = Placement::kPacked;
  extent.blob.where.units = 0;
  extent.blob.cell = cell;
  return extent;
}

Extent unplaced(ShareId share, Lsn lsn) {
  Extent extent = shown(share, 0);
  extent.blob.placement = Placement::kLog;
  extent.blob.where = {};
  extent.blob.log = {lsn, 1};
  return extent;
}

// One change of one list, made true. Returns what the list is.
ExtentList changed(MapSource& source, const ListName& was, const ExtentList& before,
                   const ListName& is, ExtentList now, Lsn own = 0) {
  LogRecord record;
  BlobOwners owners(own);
  owners.change(was, before, is, now, record);
  REQUIRE(owners.finish(source, record).ok());
  for (const PostImage& image : record.images) {
    if (image.value.has_value()) {
      source.map[image.key] = *image.value;
    } else {
      source.map.erase(image.key);
    }
  }
  return now;
}

std::vector<std::string> forwards_in(const MapSource& source) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : source.map) {
    if (key.starts_with(kForwardKeys)) keys.push_back(key);
  }
  return keys;
}

TEST_CASE("owners: a list under another key has forward keys, one for each stripe, and no others") {
  MapSource source;
  const ExtentList first = {packed(0, 5, 0), packed(0, 5, 1), packed(0, 6, 2), shown(0, 7)};
  CHECK(changed(source, kList, first, kList, first) == first);
  CHECK(source.map.empty());

  ExtentList list = changed(source, kList, first, kOther, first);
  for (int i = 0; i < 3; ++i) CHECK(list[i].blob.forward == Forward::kWritten);
  CHECK(list[3].blob.forward == Forward::kNone);
  const std::string of5 = forward_key(1, 5, kOther.key);
  const std::string of6 = forward_key(1, 6, kOther.key);
  CHECK(forwards_in(source) == std::vector{of5, of6});

  // The last blob of a stripe takes the key along; what is written new is the list's own.
  ExtentList less = {list[1], packed(0, 8, 3)};
  const ExtentList before = list;
  list = changed(source, kOther, before, kOther, less);
  CHECK(list[0].blob.forward == Forward::kWritten);
  CHECK(list[1].blob.forward == Forward::kNone);
  CHECK(forwards_in(source) == std::vector{of5});

  list = changed(source, kOther, list, kList, list);
  CHECK(forwards_in(source) ==
        std::vector{forward_key(1, 5, kList.key), forward_key(1, 8, kList.key)});
  CHECK(changed(source, kList, list, {}, {}).empty());
  CHECK(forwards_in(source).empty());
}

TEST_CASE("owners: a clone is forwarded, and its source is not") {
  MapSource source;
  const ExtentList first = {packed(9, 5, 0)};
  const ExtentList copy = changed(source, {}, {}, kOther, first);
  CHECK(copy[0].blob.forward == Forward::kWritten);
  // What is copied on from the copy says so already, and yet needs a key of its own.
  const ListName third{"o0000c"};
  CHECK(changed(source, {}, {}, third, copy)[0].blob.forward == Forward::kWritten);
  CHECK(forwards_in(source) ==
        std::vector{forward_key(1, 5, kOther.key), forward_key(1, 5, third.key)});
  // A second extent of the same blob, from the copy, in the list that the footer names.
  Extent again = copy[0];
  again.offset = 500;
  const ExtentList twice = changed(source, kList, first, kList, {first[0], again});
  CHECK(twice[0].blob == first[0].blob);
  CHECK(twice[1].blob == first[0].blob);
}

TEST_CASE(
    "owners: of a transaction's own unplaced blob the first list is the one that footers name") {
  MapSource source;
  LogRecord record;
  BlobOwners owners(50);
  ExtentList a = {unplaced(9, 50)};
  ExtentList b = a;
  ExtentList c = {unplaced(8, 40)};
  owners.change({}, {}, kList, a, record);
  owners.change({}, {}, kOther, b, record);
  owners.change({}, {}, kOther, c, record);
  CHECK(a[0].blob.forward == Forward::kNone);
  CHECK(b[0].blob.forward == Forward::kDue);
  CHECK(c[0].blob.forward == Forward::kDue);
  REQUIRE(owners.finish(source, record).ok());
  std::vector<std::string> keys;
  for (const PostImage& image : record.images) {
    if (image.key.starts_with(kUnplacedForwardKeys)) keys.push_back(image.key);
  }
  CHECK(keys == std::vector{unplaced_forward_key(40, 1, kOther.key),
                            unplaced_forward_key(50, 1, kOther.key)});
}

TEST_CASE(
    "owners: what was due of an unplaced blob is written by who writes the list with its place") {
  MapSource source;
  ExtentList list = {packed(0, 5, 0)};
  list[0].blob.forward = Forward::kDue;  // as LogBlobs gives it its place
  const ExtentList before = list;
  CHECK(changed(source, kList, before, kList, list)[0].blob.forward == Forward::kWritten);
  CHECK(forwards_in(source) == std::vector{forward_key(1, 5, kList.key)});
  // A checkpoint may have written it: it is taken back in any case.
  CHECK(changed(source, kList, before, {}, {}).empty());
  CHECK(forwards_in(source).empty());
}

TEST_CASE("owners: the deletion of a layer is scheduled with the last object that has it") {
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
