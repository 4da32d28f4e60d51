#include "core/plan/plan_collections.h"

#include <catch2/catch.hpp>

#include "core/record/keys.h"
#include "tests/core/plan/planner_world.h"

namespace hexad::core {
namespace {

using testing::PlannerWorld;
using testing::text;

TEST_CASE("plan_collections: collections get ids that are never used again") {
  PlannerWorld w;
  Plan plan = w.must([](Transaction& t) {
    t.create_collection("d");
    t.put("d", "o", text(1000));
  });
  CHECK(w.source.map.count(object_key(2, "o")) == 1);
  const std::string value = w.source.map.at(collection_key("d"));
  CHECK(decode_collection(value)->compression == w.context.default_compression);
  w.must([](Transaction& t) {
    t.remove("d", "o");
    t.remove_collection("d");
  });
  w.must([](Transaction& t) { t.create_collection("d"); });
  CHECK(decode_collection(w.source.map.at(collection_key("d")))->id == 3);
  CHECK(w.alive.blobs.empty());
}

TEST_CASE("plan_collections: a split and a merge write collections and totals, and no object") {
  PlannerWorld w;
  w.must([](Transaction& t) { t.create_collection("d"); });
  for (int i = 0; i < 5; ++i) {
    w.must([&](Transaction& t) { t.put("c", "a/" + std::to_string(i), text(1000)); });
  }
  w.must([&](Transaction& t) { t.put("c", "b", text(10)); });
  const std::map<std::string, std::string> before = w.source.map;
  const auto record = [&](const char* name) {
    return decode_collection(w.source.map.at(collection_key(name))).value();
  };
  const Plan split = w.must([](Transaction& t) { t.split_collection("c", "a/", "d"); });
  REQUIRE(split.record.images.size() == 2);
  CHECK(split.record.images[0].key == collection_key("c"));
  CHECK(split.record.images[1].key == collection_key("d"));
  CHECK(split.totals.size() == 2);
  CHECK(record("c").parts == NameParts{{"", 1}, {"a/", 2}, {"a0", 1}});
  CHECK(record("d").parts == NameParts{{"", 2}, {"a/", 1}, {"a0", 2}});
  CHECK(decode_totals(w.source.map.at(totals_key(1))).value() == CollectionTotals{1, 10});
  CHECK(decode_totals(w.source.map.at(totals_key(2))).value() == CollectionTotals{5, 5000});

  // Brought back nothing is left of it, but for the collection that is gone.
  const Plan merge = w.must([](Transaction& t) { t.merge_collection("d", "c"); });
  REQUIRE(merge.record.images.size() == 2);
  CHECK(record("c").parts.empty());
  std::map<std::string, std::string> expected = before;
  expected.erase(collection_key("d"));
  CHECK((w.source.map == expected));

  // Totals that cannot be true are damage.
  w.must([](Transaction& t) { t.create_collection("d"); });
  w.source.map[totals_key(1)] = encode_totals({3, 3000});
  CHECK(w.refused([](Transaction& t) { t.split_collection("c", "a/", "d"); }) ==
        ErrorCode::kCorruption);
  w.source.map[totals_key(1)] = encode_totals({6, 5010});
  w.source.map[totals_key(3)] = encode_totals({1, kMaxCollectionBytes - 4999});
  CHECK(w.refused([](Transaction& t) { t.split_collection("c", "a/", "d"); }) ==
        ErrorCode::kTooBig);
}

TEST_CASE(
    "plan_collections: a collection goes with its objects by one image, however many they are") {
  PlannerWorld w;
  for (int i = 0; i < 5; ++i) {
    w.must([&](Transaction& t) { t.put("c", "o" + std::to_string(i), text(1000)); });
  }
  const Plan plan = w.must([](Transaction& t) {
    t.put("c", "o1", text(2000));
    t.put("c", "new", text(2000));
    t.remove_collection("c", Contents::kRemoved);
  });
  CHECK(plan.deletions.names == std::vector<NameRange>{{1, "", ""}});
  CHECK(w.source.map.count(collection_key("c")) == 0);
  CHECK(w.source.map.count(deletion_key(1, "")) == 1);
  // What the transaction had looked at goes with it, the others stay for the background.
  CHECK(w.source.map.count(object_key(1, "o1")) == 0);
  CHECK(w.source.map.count(object_key(1, "new")) == 0);
  CHECK(w.source.map.count(object_key(1, "o2")) == 1);
  CHECK(plan.record.images.size() == 3);
  REQUIRE(plan.totals.size() == 1);
  CHECK(plan.totals[0].key == totals_key(1));
  CHECK_FALSE(plan.totals[0].value.has_value());
  CHECK(w.refused([](Transaction& t) { t.remove_collection("c", Contents::kRemoved); }) ==
        ErrorCode::kNotFound);
}

}  // namespace
}  // namespace hexad::core
