#include "core/clean/list_changes.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/core/clean/stripe_world.h"
#include "tests/core/sample_records.h"

namespace hexad::core {
namespace {

using testing::StripeWorld;

const std::string kFirst = page_key(7, 0);
const std::string kSecond = page_key(8, 0);
constexpr PackedPlace kTo = {4, 30, 2, 64};

ShowingList showing(const std::string& key, const Extent& extent) { return {key, extent.blob, 0}; }

struct World : StripeWorld {
  // Whether it was moved; and makes it true.
  bool move(const std::vector<ShowingList>& lists, const PackedPlace& to = kTo) {
    ListChanges changes(metadata, log_blobs, shape);
    bool moved = false;
    REQUIRE(metadata
                .commit_internal([&](LogRecord& record) -> Status {
                  HEXAD_TRY_ASSIGN(moved, changes.move(lists, to));
                  changes.write(record);
                  CHECK(record.images.empty() == !moved);
                  return {};
                })
                .ok());
    return moved;
  }
  bool has_key(std::uint32_t zone, std::uint32_t unit, const std::string& list) {
    return metadata.map.contains(forward_key(zone, unit, list));
  }
};

TEST_CASE("list changes: a forwarded blob that is moved is forwarded no more") {
  World w;
  const Extent other = StripeWorld::shown(1, 0, Forward::kWritten);
  w.put_page(kFirst, {StripeWorld::shown(0, 0, Forward::kWritten), other});
  REQUIRE(w.has_key(3, 10, kFirst));
  // What was known of it may be older.
  REQUIRE(w.move({showing(kFirst, StripeWorld::shown(0))}));
  ExtentList now = w.page(kFirst);
  CHECK(now[0].blob.where == alloc::Extent{4, 30, 0});
  CHECK(now[0].blob.forward == Forward::kNone);
  CHECK(now[1] == other);
  CHECK(w.has_key(3, 10, kFirst));
  CHECK_FALSE(w.has_key(4, 30, kFirst));
  REQUIRE(w.move({showing(kFirst, other)}, {4, 30, 3, 64}));
  CHECK_FALSE(w.has_key(3, 10, kFirst));
  CHECK_FALSE(w.has_key(4, 30, kFirst));
}

TEST_CASE("list changes: a shared blob is moved in all lists that are counted, or in none") {
  World w;
  const Extent here = StripeWorld::shown(0, 20);
  const Extent there = StripeWorld::shown(0, 20, Forward::kWritten);
  w.put_page(kFirst, {here});
  w.put_page(kSecond, {there});
  const std::vector<ShowingList> lists = {showing(kFirst, here), showing(kSecond, there)};
  // A clone has come that nobody knew of.
  w.metadata.map[share_key(20)] = encode_owners(3);
  const auto before = w.metadata.map;
  CHECK_FALSE(w.move(lists));
  CHECK(w.metadata.map == before);

  w.metadata.map[share_key(20)] = encode_owners(2);
  REQUIRE(w.move(lists));
  CHECK(w.page(kFirst)[0].blob.forward == Forward::kNone);
  CHECK(w.page(kSecond)[0].blob.forward == Forward::kWritten);
  for (const std::string& key : {kFirst, kSecond}) {
    CHECK(w.page(key)[0].blob.where == alloc::Extent{4, 30, 0});
    CHECK_FALSE(w.has_key(3, 10, key));
    CHECK(w.has_key(4, 30, key) == (key == kSecond));
  }
  CHECK_FALSE(w.move(lists));
}

TEST_CASE("list changes: the list that the footer names may have gone meanwhile") {
  World w;
  const Extent there = StripeWorld::shown(0, 20, Forward::kWritten);
  w.put_page(kSecond, {there});
  REQUIRE(w.move({showing(kFirst, StripeWorld::shown(0, 20)), showing(kSecond, there)}));
  CHECK(w.page(kSecond)[0].blob.forward == Forward::kWritten);
  CHECK(w.has_key(4, 30, kSecond));
}

TEST_CASE("list changes: a list that shows something else in that place stays") {
  World w;
  Extent other = StripeWorld::shown(0);
  other.blob.cell_sums = {99};
  w.put_page(kFirst, {other});
  CHECK_FALSE(w.move({showing(kFirst, StripeWorld::shown(0))}));
  CHECK_FALSE(w.move({showing(kSecond, StripeWorld::shown(0))}));
  CHECK(w.page(kFirst) == ExtentList{other});
}

// Behind the next checkpoint nobody could find it by its transaction.
TEST_CASE(
    "list changes: an unplaced blob whose place is known is named by that, beside a move (CL5)") {
  World w;
  Extent unplaced = StripeWorld::shown(1);
  unplaced.blob = unplaced_blob({5, 0}, 1000, 77);
  w.put_page(kFirst, {StripeWorld::shown(0), unplaced});
  w.log_blobs.set_places({packed_place({5, 0}, 1000, {6, 9, 0}, {1, 64})});
  REQUIRE(w.move({showing(kFirst, StripeWorld::shown(0))}));
  const Blob now = w.page(kFirst)[1].blob;
  CHECK(now.placement == Placement::kPacked);
  CHECK(now.where == alloc::Extent{6, 9, 0});
  CHECK(now.cell == 1);
  CHECK(now.cell_offset == 64);
}

}  // namespace
}  // namespace hexad::core
