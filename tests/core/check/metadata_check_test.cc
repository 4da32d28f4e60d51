// One key after the other, as fsck meets them. Stores as a whole: tests/core/faults/damage_test.cc,
// tests/core/store/fsck_beside_test.cc.
#include "core/check/metadata_check.h"

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/blob/pack_check.h"
#include "tests/core/space_world.h"

namespace hexad::core {
namespace {

const TornCells kNoneTorn;

using Catch::Contains;
using Keys = std::vector<std::pair<std::string, std::string>>;

struct Fixture : testing::SpaceWorld {
  // The findings, "subject: problem" each, of keys in this order.
  std::vector<std::string> look_at(const Keys& keys) {
    const BlobReader reader(shape, *codec, compressor, *space, system.queue(), counters, log_blobs);
    const PackChecker packs(shape, *codec, *space, system.queue(), counters);
    FsckCheck check({}, shape, *codec, reader, packs, log_blobs, kNoneTorn,
                    FsckMoment(*space, log_blobs));
    MetadataCheck metadata(check, shape.record);
    for (const auto& [key, value] : keys) REQUIRE(metadata.look_at(key, value).ok());
    metadata.find_strays();
    check.find_lost_forwards();
    objects = check.report.objects_checked;
    std::vector<std::string> found;
    for (const Finding& one : check.report.findings)
      found.push_back(one.subject + ": " + one.problem);
    return found;
  }

  std::string object(const ObjectRecord& record) const {
    return encode_object(record, shape.record);
  }
  static std::pair<std::string, std::string> collection() {
    CollectionRecord record;
    record.id = 7;
    return {collection_key("pics"), encode_collection(record)};
  }
  std::string empty_page() const { return encode_page({}, shape.record); }

  std::uint64_t objects = 0;
};

TEST_CASE("metadata_check: sound keys of all kinds are no finding") {
  Fixture f;
  ObjectRecord with_pages;
  with_pages.body = 3;
  with_pages.omap = 4;
  with_pages.layers = {5};
  ObjectRecord entry;
  const Keys keys = {f.collection(),
                     {layer_key(5), encode_owners(1)},
                     {meta_key("anything"), "x"},
                     {object_key(7, "a"), f.object({})},
                     {object_key(7, "b"), f.object(with_pages)},
                     {omap_key(4, "k"), f.object(entry)},
                     {omap_key(5, "k"), f.object(entry)},
                     {writer_key(9), ""},
                     {page_key(3, 0), f.empty_page()},
                     {page_key(9, 0), f.empty_page()},
                     {zone_key(1), "x"}};
  CHECK(f.look_at(keys).empty());
  CHECK(f.objects == 2);
}

TEST_CASE("metadata_check: a value that says nothing is a finding that names its key") {
  Fixture f;
  for (const std::string& key :
       {collection_key("pics"), cut_key(3), deletion_key(7, "a"), forward_key(1, 2, page_key(3, 0)),
        layer_key(5), share_key(6), object_key(7, "a"), omap_key(4, "k"), totals_key(7),
        page_key(3, 0), std::string("?"), std::string()}) {
    CAPTURE(key);
    const std::vector<std::string> found = f.look_at({{key, std::string("\xff\xff\xff\xff\xff")}});
    REQUIRE(!found.empty());
    CHECK_THAT(found[0], Contains("metadata key " + printable(key, 64)));
  }
}

TEST_CASE("metadata_check: what belongs to nothing is found") {
  Fixture f;
  const std::vector<std::string> object = f.look_at({{object_key(7, "a"), f.object({})}});
  REQUIRE(object.size() == 1);
  CHECK(object[0] == "object collection 7/a: its collection does not exist");
  const std::vector<std::string> page = f.look_at({{page_key(3, 0), f.empty_page()}});
  REQUIRE(page.size() == 1);
  CHECK_THAT(page[0], Contains("a page of no object"));
  const std::vector<std::string> entry = f.look_at({{omap_key(4, "k"), f.object({})}});
  REQUIRE(entry.size() == 1);
  CHECK_THAT(entry[0], Contains("an omap of no object"));
}

TEST_CASE("metadata_check: F14 forward keys name lists, and come before them") {
  Fixture f;
  ExtentList page(1);
  page[0].length = 100;
  Blob& blob = page[0].blob;
  blob.placement = Placement::kPacked;
  blob.forward = Forward::kWritten;
  blob.where = {3, 9, 0};
  blob.raw = blob.stored = 100;
  blob.cell_sums = {1};
  ObjectRecord object;
  object.body = 3;
  const std::string list = page_key(3, 0);
  // Those that speak of forward keys.
  const auto look = [&](const std::string& key, const std::string& value) {
    const std::vector<std::string> found = f.look_at({f.collection(),
                                                      {key, value},
                                                      {object_key(7, "a"), f.object(object)},
                                                      {list, encode_page(page, f.shape.record)},
                                                      {unplaced_forward_key(5, 1, list), ""}});
    std::string spoken;
    for (const std::string& one : found) {
      if (one.find("forward") != std::string::npos) spoken += one + "\n";
    }
    return spoken;
  };
  CHECK(look(forward_key(3, 9, list), "") == "");
  CHECK_THAT(look(forward_key(3, 9, list), "x"), Contains("a forward key with a value"));
  CHECK_THAT(look(forward_key(3, 10, list), ""), Contains("does not show it"));
  CHECK_THAT(look(forward_key(3, 0, list), ""), Contains("is no forward key"));
}

TEST_CASE("metadata_check: F12 a page that was cut off is marked, and marks lie within cuts") {
  Fixture f;
  ObjectRecord object;
  object.body = 3;
  object.cuts = {{2, 5}};
  const auto look = [&](const PageCuts& marks, std::uint32_t page) {
    Keys keys = {f.collection()};
    if (!marks.empty()) keys.emplace_back(cut_key(3), encode_cuts(marks));
    keys.emplace_back(object_key(7, "a"), f.object(object));
    keys.emplace_back(page_key(3, page), f.empty_page());
    return f.look_at(keys);
  };
  CHECK(look({{2, 5}}, 3).empty());
  CHECK(look({}, 1).empty());
  REQUIRE(look({}, 3).size() == 1);
  CHECK_THAT(look({}, 3)[0], Contains("cut off, and is taken back by nobody"));
  REQUIRE(look({{2, 9}}, 3).size() == 1);
  CHECK_THAT(look({{2, 9}}, 3)[0], Contains("more pages are marked than cut off"));
}

}  // namespace
}  // namespace hexad::core
