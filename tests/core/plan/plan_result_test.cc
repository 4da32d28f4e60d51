#include "core/plan/plan_result.h"

#include <catch2/catch.hpp>

#include "core/plan/plan_state.h"
#include "tests/core/plan/planner_world.h"

namespace hexad::core {
namespace {

using testing::PlannerWorld;
using testing::text;

TEST_CASE("plan_result: what a transaction reports by name is in the collection of before it") {
  PlannerWorld w;
  w.must([](Transaction& t) {
    t.create_collection("d");
    t.put("c", "a", text(300));
  });
  PlanContext context = w.context;
  PlanState state(context, w.source);
  REQUIRE(state.object("c", "a").ok());
  REQUIRE(state.collection("d").ok());
  CHECK(collection_before(state, object_key(1, "a")) == "c");
  CHECK(collection_before(state, object_key(2, "a")) == "d");
  CHECK_FALSE(collection_before(state, object_key(3, "a")).has_value());
  CHECK_FALSE(collection_before(state, omap_key(1, "a")).has_value());
}

TEST_CASE("plan_result: a large object is deleted later as a whole, a smaller one freed at once") {
  PlannerWorld w;
  const auto make = [&](std::uint64_t size) {
    w.must([&](Transaction& t) {
      t.put("c", "a", text(400));
      for (std::uint64_t at = kPageSpan; at < size; at += 8 * kPageSpan) {
        t.write("c", "a", at, as_bytes(text(400)));
      }
      t.truncate("c", "a", size);
    });
    return w.object("a")->body;
  };
  BodyId body = make(kDeferredDeletionSize);
  Plan plan = w.must([](Transaction& t) { t.remove("c", "a"); });
  CHECK(plan.deletions.empty());
  CHECK(plan.record.unplaced_releases.size() == 9);
  CHECK(w.alive.blobs.empty());

  body = make(kDeferredDeletionSize + 1);
  plan = w.must([](Transaction& t) { t.remove("c", "a"); });
  CHECK(plan.deletions.bodies == std::vector<BodyId>{body});
  CHECK(plan.record.unplaced_releases.empty());
  CHECK(plan.record.images == std::vector<PostImage>{{writer_key(body), std::string()},
                                                     {object_key(1, "a"), std::nullopt}});
  w.check_alive();

  body = make(kDeferredDeletionSize + 1);
  plan = w.must([](Transaction& t) { t.put("c", "a", text(1000)); });
  CHECK(plan.deletions.bodies == std::vector<BodyId>{body});
  CHECK(w.object("a")->body == 0);
  CHECK(w.read("a") == text(1000));
  body = make(kDeferredDeletionSize + 1);
  plan = w.must([](Transaction& t) { t.truncate("c", "a", 0); });
  CHECK(plan.deletions.bodies == std::vector<BodyId>{body});
  CHECK(w.read("a").empty());
  w.check_alive();
}

TEST_CASE("plan_result: lists that show some of their blobs in part are named") {
  PlannerWorld w;
  Plan plan = w.must([](Transaction& t) { t.put("c", "a", text(10'000)); });
  CHECK(plan.partly_shown.empty());
  plan = w.must([](Transaction& t) { t.write("c", "a", 1000, as_bytes(text(2000))); });
  REQUIRE(plan.partly_shown.size() == 1);
  CHECK(plan.partly_shown[0].key == object_key(1, "a"));
  CHECK((plan.partly_shown[0].bytes == HiddenBytes{10'000, 2000}));
  // In a page of its own.
  w.must([](Transaction& t) { t.write("c", "a", kPageSpan, as_bytes(text(4000))); });
  plan = w.must([](Transaction& t) { t.zero("c", "a", kPageSpan, 1000); });
  REQUIRE(plan.partly_shown.size() == 1);
  CHECK(plan.partly_shown[0].key == page_key(w.object("a")->body, 1));
  CHECK((plan.partly_shown[0].bytes == HiddenBytes{4000, 1000}));
  plan = w.must([](Transaction& t) { t.put("c", "a", text(500)); });
  CHECK(plan.partly_shown.empty());
}

TEST_CASE("plan_result: a page in too many pieces is named once writing it anew helps") {
  PlannerWorld w;
  const auto punch_holes = [](Transaction& t, std::uint64_t from, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) t.zero("c", "a", from + 20 * i, 10);
  };
  w.must([](Transaction& t) { t.put("c", "a", text(19'000)); });
  w.must([&](Transaction& t) { punch_holes(t, 5, 200); });
  Transaction more;
  punch_holes(more, 5005, 100);
  const Plan plan = w.plan(more).value();
  REQUIRE(plan.crowded.size() == 1);
  CHECK(plan.crowded[0].collection == "c");
  CHECK(plan.crowded[0].name == "a");
  CHECK(plan.crowded[0].page == 0);
  CHECK(plan.record.images.empty());
  w.context.accept_crowded = true;
  w.must([&](Transaction& t) { punch_holes(t, 5005, 100); });
  CHECK(w.read("a").size() == 19'000);
}

TEST_CASE("plan_result: a page that one transaction alone cuts into too many pieces is refused") {
  PlannerWorld w;
  w.must([](Transaction& t) { t.put("c", "a", text(100'000)); });
  const auto punch_holes = [](std::uint64_t count) {
    Transaction t;
    for (std::uint64_t i = 0; i < count; ++i) t.zero("c", "a", 5 + 20 * i, 10);
    return t;
  };
  // One piece more than there are holes.
  const Transaction most = punch_holes(kMaxPageExtents - 1);
  Result<Plan> plan = w.plan(most);
  REQUIRE(plan.ok());
  REQUIRE(plan->crowded.empty());  // writing it anew first would not help
  const Result<Plan> refused = w.plan(punch_holes(kMaxPageExtents));
  REQUIRE(refused.error().code == ErrorCode::kTooBig);
  REQUIRE_THAT(refused.error().message,
               Catch::Contains("object a") && Catch::Contains(std::to_string(kMaxPageExtents + 1)));
  w.commit(most, *plan);
  // Now it does, however little is changed.
  Transaction more;
  more.zero("c", "a", 17, 1);
  REQUIRE(w.plan(more)->crowded.size() == 1);
}

TEST_CASE("plan_result: a crowded page is named as the object was called before") {
  PlannerWorld w;
  w.must([](Transaction& t) { t.put("c", "a", text(19'000)); });
  w.must([](Transaction& t) {
    for (std::uint64_t i = 0; i < 200; ++i) t.zero("c", "a", 5 + 20 * i, 10);
  });
  Transaction t;
  t.rename("c", "a", "c", "b");
  for (std::uint64_t i = 0; i < 100; ++i) t.zero("c", "b", 5005 + 20 * i, 10);
  const Plan plan = w.plan(t).value();
  REQUIRE(plan.crowded.size() == 1);
  REQUIRE(plan.crowded[0].collection == "c");
  REQUIRE(plan.crowded[0].name == "a");
}

TEST_CASE("plan_result: the first page gets a key of its own with the first later one") {
  PlannerWorld w;
  w.must([](Transaction& t) { t.put("c", "a", text(5000)); });
  REQUIRE(w.object("a")->body == 0);
  Plan plan = w.must([](Transaction& t) { t.write("c", "a", kPageSpan, as_bytes("later")); });
  const BodyId body = w.object("a")->body;
  REQUIRE(body == 1);
  // The blob of the first page was stored for the object's key.
  REQUIRE(plan.record.images.size() == 4);
  REQUIRE(w.source.map.count(page_key(body, 0)) == 1);
  REQUIRE(w.source.map.count(page_key(body, 1)) == 1);
  REQUIRE(plan.record.unplaced_releases.empty());
  // From then on a change rewrites the pages that it touches.
  plan = w.must([](Transaction& t) { t.write("c", "a", kPageSpan, as_bytes("LATER")); });
  REQUIRE(plan.record.images.size() == 2);
  // A page of holes has no key.
  plan = w.must([](Transaction& t) { t.zero("c", "a", 0, 5000); });
  REQUIRE(w.source.map.count(page_key(body, 0)) == 0);
  REQUIRE(w.read("a") == std::string(kPageSpan, '\0') + "LATER");
  w.check_alive();
}

TEST_CASE("plan_result: versions and times are those of the transaction, unless it is our own") {
  PlannerWorld w;
  w.must([](Transaction& t) { t.put("c", "a", "1"); });
  const ObjectRecord before = *w.object("a");
  // An object that is only looked at keeps both, and has no image.
  const Plan plan = w.must([](Transaction& t) {
    t.touch("c", "a");
    t.put("c", "b", "2");
  });
  REQUIRE(plan.record.images.size() == 1);
  w.context.keep_versions = true;
  w.must([](Transaction& t) { t.put("c", "a", text(3000)); });
  REQUIRE(w.object("a")->version == before.version);
  REQUIRE(w.object("a")->mtime == before.mtime);
  w.context.keep_versions = false;
  w.must([](Transaction& t) { t.set_attr("c", "a", "k", "v"); });
  REQUIRE(w.object("a")->version == w.last_lsn);
  REQUIRE(w.object("a")->mtime == w.context.time);
}

TEST_CASE("plan_result: a stripe that nobody shows in the end is freed by the record that has it") {
  PlannerWorld w;
  PlanState state(w.context, w.source);
  Plan plan;
  plan.record.allocated.push_back({{1, 40, 2}, 8192, true, {}, 0});
  REQUIRE(finish_plan(state, w.source, {}, w.context, {}, plan).ok());
  REQUIRE(plan.record.freed == std::vector<alloc::Extent>{{1, 40, 2}});
  REQUIRE(plan.stripes.empty());
  REQUIRE(plan.record.time == w.context.time);
}

TEST_CASE("plan_result: released pages give up their blobs and keys, once") {
  PlannerWorld w;
  w.must([](Transaction& t) {
    t.put("c", "a", text(5000));
    t.write("c", "a", kPageSpan, as_bytes(text(32'000)));
  });
  PlanState state(w.context, w.source);
  Slot& slot = **state.object("c", "a");
  REQUIRE(state.load_pages(*slot.original).ok());
  LogRecord record;
  release_pages(*slot.original, state.owners(), record);
  REQUIRE(record.unplaced_releases.size() == 1);
  REQUIRE(record.freed.size() == 1);
  const BodyId body = slot.original->stored_body;
  REQUIRE(record.images == std::vector<PostImage>{{page_key(body, 0), std::nullopt},
                                                  {page_key(body, 1), std::nullopt}});
  const LogRecord before = record;
  release_pages(*slot.original, state.owners(), record);
  REQUIRE(record == before);
}

TEST_CASE("plan_result: a page that cannot be read fails the plan of whoever removes the object") {
  PlannerWorld w;
  w.must([](Transaction& t) {
    t.put("c", "a", text(5000));
    t.write("c", "a", kPageSpan, as_bytes("later"));
  });
  w.source.map[page_key(w.object("a")->body, 1)] = "\x01\x01";
  REQUIRE(w.refused([](Transaction& t) { t.remove("c", "a"); }) == ErrorCode::kCorruption);
}

}  // namespace
}  // namespace hexad::core
