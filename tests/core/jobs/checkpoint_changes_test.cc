#include "core/jobs/checkpoint_changes.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/record/forward_keys.h"
#include "core/record/keys.h"
#include "io/sim/sim_executor.h"
#include "tests/core/sample_records.h"

namespace hexad::core {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs pairs_of(const std::vector<kv::IndexChange>& list) {
  Pairs pairs;
  for (const kv::IndexChange& change : list) {
    pairs.emplace_back(change.key, change.value.value_or("(deleted)"));
  }
  return pairs;
}

struct World {
  io::SimExecutor sim{3};
  RecordShape shape;
  LogBlobs log_blobs{sim, shape};
  kv::Memtable table;
  CheckpointChanges changes;
};

TEST_CASE("checkpoint changes: memtable and extras in one order, deletions included") {
  World w;
  w.table.apply(1, "b", "1");
  w.table.apply(2, "d", std::nullopt);
  w.table.apply(3, "f", "3");
  w.changes.extras = {{"a", "x"}, {"c", "y"}, {"g", "z"}};
  REQUIRE(list_changes(w.table, w.log_blobs, w.shape, w.changes).ok());
  CHECK(pairs_of(w.changes.list) ==
        Pairs{{"a", "x"}, {"b", "1"}, {"c", "y"}, {"d", "(deleted)"}, {"f", "3"}, {"g", "z"}});
  CHECK(bytes_of(w.table, w.changes.extras) == 11);
}

TEST_CASE("checkpoint changes: an unplaced blob is written with its place, and not without") {
  World w;
  Extent extent;
  extent.length = 100;
  extent.blob = unplaced_blob({5, 0}, 100, 77);
  const std::string page = encode_page({extent}, w.shape);
  REQUIRE(has_unplaced_blob(page));
  w.table.apply(5, page_key(7, 0), page);
  SECTION("without") {
    const Status listed = list_changes(w.table, w.log_blobs, w.shape, w.changes);
    REQUIRE_FALSE(listed.ok());
    CHECK(listed.error().code == ErrorCode::kCorruption);
  }
  SECTION("with it") {
    UnplacedBlob blob;
    blob.place = {5, 0};
    blob.stored = SharedBytes::copy_of(as_bytes(std::string(100, 'a')));
    blob.units = 1;
    w.log_blobs.add_payload(blob);
    w.log_blobs.set_places({packed_place({5, 0}, 100, {3, 9, 0}, {1, 64})});
    REQUIRE(list_changes(w.table, w.log_blobs, w.shape, w.changes).ok());
    REQUIRE(w.changes.list.size() == 1);
    CHECK_FALSE(has_unplaced_blob(*w.changes.list[0].value));
  }
}

TEST_CASE(
    "checkpoint changes: what is forwarded gets its key with its place, and none in the log") {
  World w;
  ExtentList list(2);
  for (std::uint32_t i = 0; i < 2; ++i) {
    list[i].offset = i * 100;
    list[i].length = 100;
    list[i].blob = unplaced_blob({5, i}, 100, 77);
    list[i].blob.forward = Forward::kDue;
  }
  const std::string key = page_key(7, 0);
  w.table.apply(5, key, encode_page(list, w.shape));
  for (std::uint32_t i = 0; i < 2; ++i) w.table.apply(5, unplaced_forward_key(5, i, key), "");
  // A blob of before that was there under the same key, in the same place.
  const std::string forward = forward_key(3, 9, key);
  w.table.apply(4, forward, std::nullopt);
  w.changes.extras = {{"a", "x"}, {"z", "y"}};
  SECTION("packed") {
    w.log_blobs.set_places({packed_place({5, 0}, 100, {3, 9, 0}, {1, 64}),
                            packed_place({5, 1}, 100, {3, 9, 0}, {2, 64})});
    REQUIRE(list_changes(w.table, w.log_blobs, w.shape, w.changes).ok());
    const Pairs pairs = pairs_of(w.changes.list);
    REQUIRE(pairs.size() == 4);
    CHECK(pairs[1] == std::pair<std::string, std::string>(forward, ""));
    CHECK(pairs[2].first == key);
    const ExtentList now = decode_page(pairs[2].second, 0, w.shape).value();
    for (const Extent& extent : now) CHECK(extent.blob.forward == Forward::kWritten);
  }
  SECTION("private") {
    UnplacedPlace place;
    place.placement = Placement::kPrivate;
    place.stored = 100;
    place.where = {3, 9, 1};
    place.cell_bytes = 512;
    place.cell_sums = SumList(w.shape.cells(), 1);
    for (std::uint32_t i = 0; i < 2; ++i) {
      place.from = {5, i};
      place.where.unit = 9 + i;
      w.log_blobs.set_places({place});
    }
    REQUIRE(list_changes(w.table, w.log_blobs, w.shape, w.changes).ok());
    const Pairs pairs = pairs_of(w.changes.list);
    REQUIRE(pairs.size() == 4);
    CHECK(pairs[1] == std::pair<std::string, std::string>(forward, "(deleted)"));
    const ExtentList now = decode_page(pairs[2].second, 0, w.shape).value();
    for (const Extent& extent : now) CHECK(extent.blob.forward == Forward::kNone);
  }
}

TEST_CASE("checkpoint changes: images of zones stand under their keys") {
  alloc::ZoneImage image;
  image.zone = 4;
  const std::map<std::string, std::string> extras = encode_images({image});
  REQUIRE(extras.size() == 1);
  CHECK(extras.begin()->first == zone_key(4));
}

}  // namespace
}  // namespace hexad::core
