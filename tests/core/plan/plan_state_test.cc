#include "core/plan/plan_state.h"

#include <catch2/catch.hpp>

#include "tests/core/plan/planner_world.h"

namespace hexad::core {
namespace {

using testing::PlannerWorld;
using testing::text;

TransactionOp op_on(const std::string& name, const std::string& collection = "c") {
  TransactionOp op{};
  op.kind = OpKind::kTouch;
  op.collection = collection;
  op.name = name;
  return op;
}

// The metadata, with every look at it counted.
class CountingSource final : public PlanSource {
 public:
  explicit CountingSource(PlanSource& source) : source_(source) {}
  Result<std::optional<std::string>> get(std::string_view key) override {
    ++gets;
    return source_.get(key);
  }
  Status scan(std::string_view prefix, const Visit& visit) override {
    ++scans;
    return source_.scan(prefix, visit);
  }
  int gets = 0;
  int scans = 0;

 private:
  PlanSource& source_;
};

// An object of three pages; the second is a hole.
void put_pages(PlannerWorld& w) {
  w.must([](Transaction& t) {
    t.put("c", "a", text(5000));
    t.write("c", "a", 2 * kPageSpan, as_bytes(text(30'000)));
  });
}

TEST_CASE("plan_state: a collection is read once, and changes in memory alone") {
  PlannerWorld w;
  CountingSource source(w.source);
  PlanState state(w.context, source);
  CollectionSlot* slot = state.collection("c").value();
  REQUIRE(slot->original.has_value());
  REQUIRE(slot->original == slot->current);
  REQUIRE(state.existing_collection("c").value() == slot);
  slot->current.reset();
  REQUIRE(state.collection("c").value() == slot);
  REQUIRE(state.existing_collection("c").error().code == ErrorCode::kNotFound);
  REQUIRE(source.gets == 1);
  CollectionSlot* other = state.collection("other").value();
  REQUIRE_FALSE(other->original.has_value());
  REQUIRE(state.existing_collection("other").error().code == ErrorCode::kNotFound);
  other->current = CollectionRecord{9, {}};
  REQUIRE(state.existing_collection("other").value()->current->id == 9);
  REQUIRE(state.collections().size() == 2);
}

TEST_CASE("plan_state: an object that is there is looked at once, one that is not stays absent") {
  PlannerWorld w;
  w.must([](Transaction& t) { t.put("c", "a", "1"); });
  CountingSource source(w.source);
  PlanState state(w.context, source);
  Slot* slot = state.object("c", "a").value();
  REQUIRE(slot->name == "a");
  REQUIRE(slot->original != nullptr);
  REQUIRE(slot->original == slot->current);
  REQUIRE_FALSE(slot->current->changed);
  REQUIRE(slot->current->all_pages);
  REQUIRE(slot->current->record.extents.empty());
  REQUIRE(slot->current->pages.at(0).now().size() == 1);
  REQUIRE(slot->current->pages.at(0).now() == slot->current->pages.at(0).before());
  REQUIRE(state.existing_object(op_on("a")).value() == slot);
  REQUIRE(source.gets == 2);  // with the collection's
  Slot* absent = state.object("c", "b").value();
  REQUIRE(absent->original == nullptr);
  REQUIRE(absent->current == nullptr);
  const Error missing = state.existing_object(op_on("b")).error();
  REQUIRE(missing.code == ErrorCode::kNotFound);
  REQUIRE_THAT(missing.message, Catch::Contains("object c/b"));
  REQUIRE(state.object("d", "a").error().code == ErrorCode::kNotFound);
  REQUIRE(state.objects().size() == 2);
}

TEST_CASE("plan_state: whoever writes marks the content, and makes what is missing") {
  PlannerWorld w;
  w.must([](Transaction& t) { t.put("c", "a", "1"); });
  PlanState state(w.context, w.source);
  ObjectContent* content = state.writable(op_on("a")).value();
  REQUIRE(content->changed);
  REQUIRE(content == state.object("c", "a").value()->original);
  ObjectContent* made = state.writable(op_on("new")).value();
  REQUIRE(made->changed);
  REQUIRE(made->all_pages);
  REQUIRE(made->stored_body == 0);
  REQUIRE(state.object("c", "new").value()->original == nullptr);
  REQUIRE(state.writable(op_on("new")).value() == made);
  REQUIRE(state.writable(op_on("a", "d")).error().code == ErrorCode::kNotFound);
}

TEST_CASE("plan_state: names are shown so that any terminal can show them") {
  REQUIRE(object_text(op_on("a/b.jpg", "photos")) == "object photos/a/b.jpg");
  REQUIRE(object_text(op_on("\x01", "c")) == "object c/\\x01");
}

TEST_CASE("plan_state: one page is read alone, and only when nobody has looked at it") {
  PlannerWorld w;
  put_pages(w);
  CountingSource source(w.source);
  PlanState state(w.context, source);
  ObjectContent& content = *state.object("c", "a").value()->current;
  REQUIRE(content.pages.empty());
  REQUIRE_FALSE(content.all_pages);
  source.gets = 0;
  Page* last = state.page(content, 2).value();
  REQUIRE(last->now().size() == 1);
  REQUIRE(last->before() == last->now());
  REQUIRE_FALSE(last->is_dirty());
  REQUIRE(state.page(content, 1).value()->now().empty());
  REQUIRE(source.gets == 2);
  last->change().clear();
  REQUIRE(state.page(content, 2).value() == last);
  REQUIRE(state.page(content, 2).value()->now().empty());
  REQUIRE(source.gets == 2);
  REQUIRE(source.scans == 0);
}

TEST_CASE("plan_state: pages are loaded from one on, beside those that have changed already") {
  PlannerWorld w;
  put_pages(w);
  CountingSource source(w.source);
  PlanState state(w.context, source);
  ObjectContent& content = *state.object("c", "a").value()->current;
  REQUIRE(state.load_pages(content, 1).ok());
  REQUIRE(content.pages.size() == 1);
  REQUIRE(content.pages.count(2) == 1);
  REQUIRE_FALSE(content.all_pages);
  content.pages.at(2).clear();
  REQUIRE(state.load_pages(content).ok());
  REQUIRE(content.pages.size() == 2);
  REQUIRE(content.pages.at(2).now().empty());
  REQUIRE(content.all_pages);
  // Complete: nothing is asked any more, also about a page that is not there.
  source.gets = source.scans = 0;
  REQUIRE(state.load_pages(content).ok());
  REQUIRE(state.page(content, 7).value()->now().empty());
  REQUIRE(source.gets + source.scans == 0);
}

TEST_CASE("plan_state: what does not decode, or cannot be read, is said") {
  PlannerWorld w;
  put_pages(w);
  const BodyId body = w.object("a")->body;
  w.source.map[object_key(1, "broken")] = "\x01\x01";
  w.source.map[collection_key("broken")] = "\xff";
  w.source.map[page_key(body, 2)] = "\x01\x01";
  w.source.pages.clear();  // what is remembered of a page is not read
  PlanState state(w.context, w.source);
  REQUIRE(state.object("c", "broken").error().code == ErrorCode::kCorruption);
  REQUIRE_FALSE(state.collection("broken").ok());
  ObjectContent& content = *state.object("c", "a").value()->current;
  REQUIRE(state.page(content, 2).error().code == ErrorCode::kCorruption);
  PlanState other(w.context, w.source);
  ObjectContent& whole = *other.object("c", "a").value()->current;
  REQUIRE(other.load_pages(whole).error().code == ErrorCode::kCorruption);
  w.source.fails = true;
  PlanState fails(w.context, w.source);
  REQUIRE(fails.object("c", "a").error().code == ErrorCode::kIo);
  REQUIRE(other.page(whole, 1).error().code == ErrorCode::kIo);
}

TEST_CASE(
    "plan_state: a blob whose place is known by now dies by that place, and is renamed by it") {
  PlannerWorld w;
  w.must([](Transaction& t) {
    t.put("c", "a", text(5000));
    t.put("c", "b", text(4000));
  });
  LogBlobs log_blobs(w.system.executor(), w.shape.record);
  UnplacedPlace place;
  place.from = {w.last_lsn, 0};
  place.stored = 5000;
  place.where = {4, 70, 0};
  place.cell = 2;
  place.cell_offset = 640;
  log_blobs.set_places({place});
  w.context.log_blobs = &log_blobs;
  Transaction change;
  change.set_attr("c", "a", "k", "v");
  Plan plan = w.plan(change).value();
  REQUIRE(plan.record.images.size() == 1);
  const std::string value = plan.record.images[0].value.value();
  CHECK_FALSE(has_unplaced_blob(value));
  CHECK(decode_object(value, w.shape.record)->extents.at(0).blob.where == place.where);
  CHECK(plan.record.packed_releases.empty());

  Transaction removal;
  removal.remove("c", "a");
  removal.remove("c", "b");
  plan = w.plan(removal).value();
  CHECK(plan.record.packed_releases == std::vector<PackedRelease>{{4, 70, 5000}});
  CHECK(plan.record.unplaced_releases == std::vector<LogPlace>{{w.last_lsn, 1}});
}

// PO2. `touched`: an op has asked for the object before, so that it was decoded.
TEST_CASE("plan_state: a plain object dies as any other does, whatever else the transaction does") {
  PlannerWorld w;
  w.must([](Transaction& t) {
    t.put("c", "unplaced", text(5000));
    t.put("c", "private", text(60'000), Hint::kIncompressible);
    t.put("c", "inline", text(50));
    t.put("c", "empty", text(0));
    t.put("c", "named", text(3000));
    t.set_attr("c", "named", "k", "v");
    t.put("c", "pages", text(1 << 20));
    t.append("c", "pages", as_bytes(text(70'000)));
    t.put("c", "keys", text(4000));
    t.omap_set("c", "keys", "k", text(10));
    t.put("c", "cut", text(6000));
    t.write("c", "cut", 1000, as_bytes(text(2000)));
  });
  w.must([](Transaction& t) {
    t.put("c", "shared", text(7000));
    t.clone("c", "shared", "c", "clone");
  });
  const std::vector<std::string> names = {"unplaced", "private", "inline", "empty",
                                          "named",    "pages",   "keys",   "cut",
                                          "shared",   "clone",   "none"};
  for (const std::string& name : names) {
    CAPTURE(name);
    Transaction plain;
    plain.remove("c", name);
    const Plan plan = w.plan(plain).value();
    Transaction touched;
    if (name != "none") touched.expect_exists("c", name);
    touched.remove("c", name);
    const Plan other = w.plan(touched).value();
    CHECK(plan.record == other.record);
    CHECK(plan.totals == other.totals);
    CHECK(plan.deletions.bodies == other.deletions.bodies);
  }
  // Removed and put again, removed twice, and renamed into what was removed.
  w.must([](Transaction& t) {
    t.remove("c", "unplaced");
    t.put("c", "unplaced", text(900));
    t.remove("c", "private");
    t.remove("c", "private");
    t.remove("c", "named");
    t.rename("c", "cut", "c", "named");
  });
  w.check_alive();
  CHECK(w.read("unplaced") == text(900));
  CHECK_FALSE(w.object("private").has_value());
  CHECK_FALSE(w.object("cut").has_value());
  CHECK(w.object("named")->attributes.empty());
  CHECK(w.refused([](Transaction& t) {
    t.remove("c", "unplaced");
    t.rename("c", "unplaced", "c", "x");
  }) == ErrorCode::kNotFound);
  // What a clone has is released with the last of its owners.
  w.must([](Transaction& t) { t.remove("c", "shared"); });
  w.check_alive();
  w.must([](Transaction& t) {
    t.clone("c", "clone", "c", "again");
    t.remove("c", "clone");
  });
  w.check_alive();
  CHECK(w.read("again") == text(7000));
  w.must([](Transaction& t) { t.remove("c", "again"); });
  w.must([](Transaction& t) { t.remove_collection("c", Contents::kRemoved); });
}

TEST_CASE("plan_state: the places of unplaced blobs are known in pages of their own as well") {
  PlannerWorld w;
  w.must([](Transaction& t) { t.write("c", "a", kPageSpan, as_bytes(text(5000))); });
  LogBlobs log_blobs(w.system.executor(), w.shape.record);
  UnplacedPlace place;
  place.from = {w.last_lsn, 0};
  place.stored = 5000;
  place.where = {4, 70, 0};
  log_blobs.set_places({place});
  w.context.log_blobs = &log_blobs;
  for (const bool all : {false, true}) {
    PlanState state(w.context, w.source);
    ObjectContent& content = *state.object("c", "a").value()->current;
    if (all) REQUIRE(state.load_pages(content).ok());
    REQUIRE(state.page(content, 1).value()->now().at(0).blob.where == place.where);
    REQUIRE(state.page(content, 1).value()->before().at(0).blob.where == place.where);
  }
}

}  // namespace
}  // namespace hexad::core
