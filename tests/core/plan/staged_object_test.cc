#include "core/plan/staged_object.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/core/plan/planner_world.h"

namespace hexad::core {
namespace {

using testing::PlannerWorld;
using testing::text;

// A page of one stripe, as a writer leaves it.
Extent stripe_extent(std::uint32_t page, std::uint32_t unit, std::uint32_t bytes) {
  Extent extent;
  extent.offset = page * kPageSpan;
  extent.length = bytes;
  extent.blob.where = {1, unit, 1};
  extent.blob.cell_bytes = 512;
  extent.blob.raw = extent.blob.stored = bytes;
  extent.blob.cell_sums.assign(6, 1);
  return extent;
}

// Only Store makes such an op; here it stands behind a harmless one.
Transaction publishing(const std::shared_ptr<StagedObject>& staged) {
  Transaction transaction;
  transaction.touch("c", "a");
  TransactionOp op{};
  op.kind = OpKind::kPublish;
  op.collection = "c";
  op.name = "a";
  op.staged = staged;
  const_cast<std::vector<TransactionOp>&>(transaction.ops()).push_back(std::move(op));
  return transaction;
}

TEST_CASE("staged_object: publishing takes over the writer's body, stripes and small object") {
  PlannerWorld w;
  w.must([](Transaction& t) { t.put("c", "a", text(5000)); });
  const auto staged = std::make_shared<StagedObject>();
  staged->size = 500;
  staged->attributes["k"] = "v";
  staged->stripes.push_back({{1, 500, 1}, 512, true, {}, 0});
  staged->stripes.push_back({{1, 501, 1}, 512, true, {}, 0});
  staged->pages[0] = {stripe_extent(0, 500, 500)};
  const Transaction transaction = publishing(staged);
  Plan plan = w.plan(transaction).value();
  CHECK(plan.record.unplaced_releases == std::vector<LogPlace>{{w.last_lsn, 0}});
  CHECK(plan.record.allocated == staged->stripes);
  // A stripe of the writer that its object does not show is given back at once.
  CHECK(plan.record.freed == std::vector<alloc::Extent>{{1, 501, 1}});
  const ObjectRecord record =
      decode_object(plan.record.images.at(0).value.value(), w.shape.record).value();
  CHECK(record.size == 500);
  CHECK(record.attributes.at("k") == "v");
  staged->problem = Error{ErrorCode::kIo, "the writer has failed", ""};
  CHECK(w.plan(transaction).error().code == ErrorCode::kIo);
}

TEST_CASE("staged_object: pages that are in the metadata already stay where they are") {
  PlannerWorld w;
  const auto staged = std::make_shared<StagedObject>();
  staged->body = 77;
  staged->spilled = 2;
  staged->size = 2 * kPageSpan + 300;
  staged->pages[2] = {stripe_extent(2, 502, 300)};
  staged->stripes.push_back({{1, 502, 1}, 512, true, {}, 0});
  for (const std::uint32_t page : {0u, 1u}) {
    w.source.map[page_key(77, page)] =
        encode_page({stripe_extent(page, 500 + page, 500)}, w.shape.record);
  }
  w.source.map[writer_key(77)] = "";
  Transaction transaction = publishing(staged);
  const Plan plan = w.plan(transaction).value();
  // The object's record and the page that was not there; the writer is none any more.
  REQUIRE(plan.record.images.size() == 3);
  REQUIRE(plan.record.images[0] == PostImage{writer_key(77), std::nullopt});
  REQUIRE(plan.record.images[1].key == page_key(77, 2));
  REQUIRE(plan.record.images[2].key == object_key(1, "a"));
  REQUIRE(plan.record.freed.empty());
  w.commit(transaction, plan);
  REQUIRE(w.object("a")->body == 77);
  REQUIRE(w.object("a")->size == staged->size);
  REQUIRE(w.extents(*w.object("a")).size() == 3);
}

TEST_CASE("staged_object: what the same transaction removes again gives up all of it") {
  PlannerWorld w;
  const auto staged = std::make_shared<StagedObject>();
  staged->body = 77;
  staged->spilled = 1;
  staged->size = kPageSpan + 300;
  staged->pages[1] = {stripe_extent(1, 501, 300)};
  staged->stripes.push_back({{1, 501, 1}, 512, true, {}, 0});
  w.source.map[page_key(77, 0)] = encode_page({stripe_extent(0, 500, 500)}, w.shape.record);
  w.source.map[writer_key(77)] = "";
  Transaction transaction = publishing(staged);
  transaction.remove("c", "a");
  const Plan plan = w.plan(transaction).value();
  // What is in the metadata already, however many pages, is the background's.
  REQUIRE(plan.record.freed == std::vector<alloc::Extent>{{1, 501, 1}});
  REQUIRE(plan.record.allocated == staged->stripes);
  REQUIRE(plan.record.images == std::vector<PostImage>{{writer_key(77), std::string()}});
  REQUIRE(plan.deletions.bodies == std::vector<BodyId>{77});
}

TEST_CASE(
    "staged_object: published over an object, it gives up that one's pages and none of its own") {
  PlannerWorld w;
  const auto publish = [&](BodyId body, std::uint32_t unit) {
    const auto staged = std::make_shared<StagedObject>();
    staged->body = body;
    staged->spilled = 1;
    staged->size = kPageSpan + 300;
    staged->pages[1] = {stripe_extent(1, unit + 1, 300)};
    staged->stripes.push_back({{1, unit + 1, 1}, 512, true, {}, 0});
    w.source.map[page_key(body, 0)] = encode_page({stripe_extent(0, unit, 500)}, w.shape.record);
    w.source.map[writer_key(body)] = "";
    const Transaction transaction = publishing(staged);
    Plan plan = w.plan(transaction).value();
    w.commit(transaction, plan);
    return plan;
  };
  publish(77, 500);
  w.alive.blobs = {{1, 500, 0, 0, {}}, {1, 501, 0, 0, {}}};  // of the writer
  Plan plan = publish(78, 600);
  std::sort(plan.record.freed.begin(), plan.record.freed.end());
  REQUIRE(plan.record.freed == std::vector<alloc::Extent>{{1, 500, 1}, {1, 501, 1}});
  REQUIRE(plan.stripes == std::vector<BlobId>{{1, 601, 0, 0, {}}});
  REQUIRE(w.object("a")->body == 78);
  REQUIRE(w.extents(*w.object("a")).size() == 2);
  REQUIRE(w.source.map.count(page_key(78, 0)) == 1);
  REQUIRE(w.source.map.count(page_key(77, 0)) == 0);
}

TEST_CASE("staged_object: a small object is unplaced like the data of a put") {
  PlannerWorld w;
  const auto staged = std::make_shared<StagedObject>();
  const std::string data = text(3000);
  staged->size = data.size();
  staged->unplaced =
      prepare_payload(w.preparer, as_bytes(data), Hint::kNone, {}, 0, Inlining::kOfSmall).value();
  staged->unplaced.pieces[0].prepared.blob.log = {w.last_lsn + 1, 0};
  const Plan plan = w.plan(publishing(staged)).value();
  REQUIRE(plan.record.allocated.empty());
  REQUIRE(plan.refers_to({0, 0, 0, 0, {w.last_lsn + 1, 0}}));
  REQUIRE(plan.owners.at(0)->key == object_key(1, "a"));
}

}  // namespace
}  // namespace hexad::core
