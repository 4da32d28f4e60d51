#include "core/plan/plan_data.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/core/plan/planner_world.h"

namespace hexad::core {
namespace {

using testing::PlannerWorld;
using testing::text;

TransactionOp op_on(const std::string& name) {
  TransactionOp op{};
  op.kind = OpKind::kPut;
  op.collection = "c";
  op.name = name;
  return op;
}

// Page by page what the content holds: offset and length of the extents.
std::vector<std::pair<std::uint64_t, std::uint64_t>> held(const ObjectContent& content) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
  for (const auto& [index, page] : content.pages) {
    for (const Extent& extent : page.now()) all.emplace_back(extent.offset, extent.length);
  }
  return all;
}

using Held = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

TEST_CASE("plan_data: pieces are placed in their pages") {
  PlannerWorld w;
  PlanState state(w.context, w.source);
  ObjectContent* content = emptied(state, op_on("a")).value();
  const std::string payload = text(6000);
  TransactionOp put = op_on("a");
  put.payload = as_bytes(payload);
  PreparedOp op = w.cut(put, 3 * kPageSpan - 1000, Inlining::kOfSmall);
  REQUIRE(op.pieces.size() == 2);
  op.pieces[1].prepared.blob.log = {7, 1};
  REQUIRE(place(state, *content, op).ok());
  CHECK(held(*content) == Held{{3 * kPageSpan - 1000, 1000}, {3 * kPageSpan, 5000}});
  CHECK(content->pages.at(2).is_dirty());
  CHECK(content->pages.at(3).is_dirty());
  CHECK(content->pages.at(3).now().at(0).blob.log == LogPlace{7, 1});
}

TEST_CASE("plan_data: what is dropped ends where it says, and pages before are not read") {
  PlannerWorld w;
  w.must([](Transaction& t) {
    t.put("c", "a", text(5000));
    t.write("c", "a", kPageSpan, as_bytes(text(5000)));
    t.write("c", "a", 2 * kPageSpan, as_bytes(text(5000)));
  });
  PlanState state(w.context, w.source);
  ObjectContent* content = state.writable(op_on("a")).value();
  REQUIRE(drop_data(state, *content, kPageSpan + 1000).ok());
  CHECK(held(*content) == Held{{kPageSpan, 1000}});
  CHECK(content->pages.count(0) == 0);
  CHECK(content->pages.at(1).is_dirty());
  CHECK(content->pages.at(2).is_dirty());
}

TEST_CASE("plan_data: a range is punched across pages, and costs no page that holds nothing") {
  PlannerWorld w;
  w.must([](Transaction& t) {
    t.put("c", "a", text(5000));
    t.write("c", "a", 1000 * kPageSpan - 5000, as_bytes(text(10'000)));
    t.write("c", "a", 2000 * kPageSpan, as_bytes(text(10)));
  });
  PlanState state(w.context, w.source);
  ObjectContent* content = state.writable(op_on("a")).value();
  REQUIRE(punch_range(state, *content, 4000, 1000 * kPageSpan - 4000 + 1000).ok());
  CHECK(content->pages.size() <= 4);
  REQUIRE(state.load_pages(*content).ok());
  CHECK(held(*content) == Held{{0, 4000}, {1000 * kPageSpan + 1000, 4000}, {2000 * kPageSpan, 10}});
}

TEST_CASE("plan_data: a small object is emptied page by page, a large one is given up unread") {
  PlannerWorld w;
  w.must([](Transaction& t) { t.put("c", "small", text(5000)); });
  w.must([](Transaction& t) {
    for (std::uint64_t page = 0; page < 66; ++page) {
      t.write("c", "large", page * kPageSpan, as_bytes(text(5000)));
    }
    t.set_attr("c", "large", "k", "v");
  });
  PlanState state(w.context, w.source);
  ObjectContent* small = emptied(state, op_on("small")).value();
  CHECK(small == state.object("c", "small").value()->original);
  CHECK(held(*small).empty());
  CHECK(small->pages.at(0).before().size() == 1);  // what dies

  ObjectContent* large = emptied(state, op_on("large")).value();
  const Slot* slot = state.object("c", "large").value();
  CHECK(large == slot->current);
  CHECK(large != slot->original);
  CHECK(large->pages.empty());
  CHECK(large->all_pages);
  CHECK(large->record.body == 0);
  CHECK(large->record.attributes.at("k") == "v");
  CHECK(slot->original->pages.empty());
}

TEST_CASE("plan_data: errors of reading pages come through") {
  PlannerWorld w;
  w.must([](Transaction& t) {
    t.put("c", "a", text(5000));
    t.write("c", "a", 2 * kPageSpan, as_bytes(text(30'000)));
  });
  PlanState state(w.context, w.source);
  ObjectContent* content = state.writable(op_on("a")).value();
  w.source.fails = true;
  CHECK(drop_data(state, *content, 10).error().code == ErrorCode::kIo);
  CHECK(punch_range(state, *content, 10, 3 * kPageSpan).error().code == ErrorCode::kIo);
  CHECK(emptied(state, op_on("a")).error().code == ErrorCode::kIo);
}

}  // namespace
}  // namespace hexad::core
