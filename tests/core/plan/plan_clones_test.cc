#include "core/plan/plan_clones.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "core/record/extent_codec.h"
#include "core/record/forward_keys.h"
#include "core/record/keys.h"
#include "core/space/log_blobs.h"
#include "tests/core/plan/planner_world.h"

namespace hexad::core {
namespace {

using testing::PlannerWorld;
using testing::text;

TEST_CASE("plan_clones: a clone shows the same blobs, which die when neither shows them") {
  PlannerWorld w;
  w.must([](Transaction& t) {
    t.put("c", "a", text(5000));
    t.set_attr("c", "a", "k", "v");
  });
  const ObjectRecord before = w.object("a").value();
  Plan plan = w.must([](Transaction& t) { t.clone("c", "a", "c", "b"); });
  CHECK(plan.record.unplaced_releases.empty());
  CHECK(plan.owners.empty());  // no blob of its own
  CHECK(plan.stripes.empty());
  const ObjectRecord source = w.object("a").value();
  const ObjectRecord copy = w.object("b").value();
  CHECK(source.version == before.version);
  CHECK(source.mtime == before.mtime);
  CHECK(copy.version == w.last_lsn);
  CHECK(copy.attributes == before.attributes);
  ExtentList forwarded = source.extents;
  forwarded.at(0).blob.forward = Forward::kDue;
  CHECK(copy.extents == forwarded);
  const ShareId share = copy.extents.at(0).blob.share;
  CHECK(share != 0);
  CHECK(w.owners_of(share) == 2);
  w.check_alive();

  // The second one of the same blob rewrites the source no more. The clone, its forward key, and
  // the number of owners.
  plan = w.must([](Transaction& t) { t.clone("c", "a", "c", "d"); });
  CHECK(plan.record.images.size() == 3);
  CHECK(w.owners_of(share) == 3);
  w.must([](Transaction& t) { t.put("c", "a", text(300, 'y')); });
  w.must([](Transaction& t) { t.remove("c", "d"); });
  CHECK(w.source.map.count(share_key(share)) == 0);
  CHECK(w.read("b") == text(5000));
  plan = w.must([](Transaction& t) { t.write("c", "b", 0, as_bytes(text(5000, 'z'))); });
  CHECK(plan.record.unplaced_releases.size() == 1);
  w.check_alive();
}

TEST_CASE(
    "plan_clones: clones within one transaction see what it did before, and what comes later") {
  PlannerWorld w;
  w.must([](Transaction& t) { t.put("c", "old", text(5000, 'o')); });
  const Plan plan = w.must([](Transaction& t) {
    t.put("c", "a", text(5000, 'a'));
    t.clone("c", "a", "c", "b");
    t.write("c", "a", 1000, as_bytes(text(1000, 'x')));
    t.clone("c", "b", "c", "d");
    t.remove("c", "b");
    t.clone("c", "old", "c", "new");
    t.remove("c", "old");
    t.clone("c", "d", "c", "gone");
    t.remove("c", "gone");
  });
  CHECK(plan.record.unplaced_releases.empty());
  CHECK(w.read("a") == text(1000, 'a') + text(1000, 'x') + text(3000, 'a'));
  CHECK(w.read("d") == text(5000, 'a'));
  CHECK(w.read("new") == text(5000, 'o'));
  w.check_alive();
}

// A group is sealed when the plan asks for this key: blobs get their places in between.
class SealingSource final : public PlanSource {
 public:
  SealingSource(PlanSource& source, std::string key, std::function<void()> seal)
      : source_(source), key_(std::move(key)), seal_(std::move(seal)) {}
  Result<std::optional<std::string>> get(std::string_view key) override {
    if (key == key_) seal_();
    return source_.get(key);
  }
  Status scan(std::string_view prefix, const Visit& visit) override {
    return source_.scan(prefix, visit);
  }

 private:
  PlanSource& source_;
  const std::string key_;
  const std::function<void()> seal_;
};

// YB5 of core/space/log_blobs.h.
TEST_CASE("plan_clones: a blob that gets its place while a plan reads has one name in a list") {
  PlannerWorld w;
  w.must([](Transaction& t) { t.put("c", "a", text(9000)); });
  const LogPlace unplaced = w.object("a")->extents.at(0).blob.log;
  w.must([](Transaction& t) { t.clone_range("c", "a", 0, 3000, "c", "b", 0); });

  LogBlobs log_blobs(w.system.executor(), w.shape.record);
  w.context.log_blobs = &log_blobs;
  UnplacedPlace place;
  place.from = unplaced;
  place.stored = w.object("a")->extents.at(0).blob.stored;
  place.where = {4, 70, 0};
  SealingSource source(w.source, object_key(1, "b"), [&] { log_blobs.set_places({place}); });
  Transaction again;
  again.clone_range("c", "a", 4000, 2000, "c", "b", 5000);
  const Plan plan = plan_transaction(again, w.prepare(again), w.context, source).value();
  CHECK(log_blobs.find(unplaced)->place.has_value());
  const auto image =
      std::find_if(plan.record.images.begin(), plan.record.images.end(),
                   [](const PostImage& one) { return one.key == object_key(1, "b"); });
  REQUIRE(image != plan.record.images.end());
  ExtentList extents = decode_object(image->value.value(), w.shape.record)->extents;
  REQUIRE(extents.size() == 2);
  CHECK(extents[0].blob == extents[1].blob);
  // As the checkpoint does.
  log_blobs.resolve_all(extents);
  write_due_keys(object_key(1, "b"), extents, [](const std::string&) {});
  CHECK(check_extents(extents, 0, w.shape.record).ok());
}

TEST_CASE(
    "plan_clones: a range is cut where pages begin, inline bytes are copied, holes stay holes") {
  PlannerWorld w;
  w.must([](Transaction& t) {
    t.write("c", "a", 1000, as_bytes(text(30'000, 'x')));
    t.write("c", "a", 40'000, as_bytes("inline"));
    t.write("c", "b", 0, as_bytes(text(2 * kPageSpan, 'b')));
  });
  w.must(
      [](Transaction& t) { t.clone_range("c", "a", 500, 39'506, "c", "b", kPageSpan - 10'000); });
  std::string expected = text(2 * kPageSpan, 'b');
  const std::string source = w.read("a");
  expected.replace(kPageSpan - 10'000, 39'506, source, 500, 39'506);
  CHECK(w.read("b") == expected);
  const ExtentList extents = w.extents(w.object("b").value());
  CHECK(is_well_formed(extents));
  CHECK(extents.at(1).blob.id() == extents.at(2).blob.id());
  w.check_alive();
  w.must([](Transaction& t) { t.remove("c", "a"); });
  CHECK(w.read("b") == expected);
  // Onto itself, apart; and beyond the end.
  w.must([](Transaction& t) { t.clone_range("c", "b", 0, kPageSpan, "c", "b", 3 * kPageSpan); });
  CHECK(w.object("b")->size == 4 * kPageSpan);
  CHECK(w.read("b") == expected + std::string(kPageSpan, '\0') + expected.substr(0, kPageSpan));
  w.check_alive();
  w.must([](Transaction& t) { t.remove("c", "b"); });
  CHECK(w.alive.blobs.empty());
}

TEST_CASE("plan_clones: what clones refuse") {
  PlannerWorld w;
  w.must([](Transaction& t) { t.put("c", "a", text(5000)); });
  using Code = ErrorCode;
  CHECK(w.refused([](Transaction& t) { t.clone("c", "none", "c", "b"); }) == Code::kNotFound);
  CHECK(w.refused([](Transaction& t) { t.clone("c", "a", "none", "b"); }) == Code::kNotFound);
  CHECK(w.refused([](Transaction& t) { t.clone_range("c", "none", 0, 1, "c", "b", 0); }) ==
        Code::kNotFound);
  CHECK(w.refused([](Transaction& t) { t.clone_range("c", "a", 0, 5001, "c", "b", 0); }) ==
        Code::kInvalidArgument);
  CHECK(w.refused([](Transaction& t) { t.clone_range("c", "a", 5001, 0, "c", "b", 0); }) ==
        Code::kInvalidArgument);
  w.must([](Transaction& t) { t.clone_range("c", "a", 5000, 0, "c", "b", 70); });
  CHECK(w.object("b")->size == 0);
}

TEST_CASE(
    "plan_clones: a large object that is cloned and removed at once keeps what the clone shows") {
  PlannerWorld w;
  w.must([](Transaction& t) {
    t.write("c", "a", 0, as_bytes(text(30'000, 'x')));
    t.write("c", "a", 3 * kPageSpan, as_bytes(text(30'000, 'y')));
    t.truncate("c", "a", 80 * kPageSpan);
  });
  const std::string before = w.read("a");
  const Plan plan = w.must([](Transaction& t) {
    t.clone("c", "a", "c", "b");
    t.put("c", "a", "small now");
  });
  CHECK(plan.deletions.bodies.size() == 1);
  CHECK(w.read("a") == "small now");
  CHECK(w.read("b") == before);
  w.check_alive();
  w.must([](Transaction& t) {
    t.clone("c", "b", "c", "d");
    t.remove("c", "b");
  });
  CHECK(w.read("d") == before);
  w.check_alive();
  w.must([](Transaction& t) { t.remove("c", "d"); });
  CHECK(w.alive.blobs.empty());
}

// Objects with a page more than clones show one by one.
constexpr std::uint64_t kMany = kFewClonedPages + 2;

void write_pages(Transaction& t, const std::string& name, std::uint64_t from, std::uint64_t end,
                 char with = 'x') {
  for (std::uint64_t page = from; page < end; ++page) {
    t.write("c", name, page * kPageSpan, as_bytes(text(300, with)));
  }
}

TEST_CASE("plan_clones: an object with many pages is copied first, and one key names the copy") {
  PlannerWorld w;
  w.must([](Transaction& t) { write_pages(t, "a", 0, kMany); });
  const BodyId body = w.object("a")->body;
  Transaction t;
  t.clone("c", "a", "c", "b");
  w.context.lsn = w.last_lsn + 1;
  w.prepared = w.prepare(t);
  Plan first = plan_transaction(t, w.prepared, w.context, w.source).value();
  REQUIRE(first.redo.size() == 1);
  CHECK(first.redo[0].copy == body);
  const Plan plan = w.must([](Transaction& again) { again.clone("c", "a", "c", "b"); });
  CHECK(plan.record.images.size() == 2);  // the copy's writer key goes, the object comes
  REQUIRE(plan.copies.size() == 1);
  CHECK(w.object("b")->body == plan.copies[0]->to);
  CHECK(w.source.map.count(writer_key(plan.copies[0]->to)) == 0);
  CHECK((w.read("a") == w.read("b")));
  w.check_alive();
  w.must([](Transaction& next) { next.put("c", "a", "short"); });
  CHECK(w.read("b")[kPageSpan] == 'x');
  w.check_alive();
  w.must([](Transaction& next) { next.remove("c", "b"); });
  CHECK(w.alive.blobs.empty());
}

TEST_CASE(
    "plan_clones: a long range is copied first, and takes the place of the destination's body") {
  PlannerWorld w;
  w.context.ranges_at_once = 2;
  w.must([](Transaction& t) {
    write_pages(t, "a", 0, 9);
    write_pages(t, "b", 0, 12, 'b');
    t.set_attr("c", "b", "kept", "yes");
    t.omap_set("c", "b", "key", "value");
  });
  const std::string source = w.read("a");
  std::string expected = w.read("b");
  const BodyId before = w.object("b")->body;
  constexpr std::uint64_t kFrom = kPageSpan + 100;
  constexpr std::uint64_t kLength = 6 * kPageSpan + 100;
  constexpr std::uint64_t kTo = 2 * kPageSpan + 250;
  expected.replace(kTo, kLength, source, kFrom, kLength);
  const Plan plan =
      w.must([](Transaction& t) { t.clone_range("c", "a", kFrom, kLength, "c", "b", kTo); });
  REQUIRE(plan.copies.size() == 1);
  CHECK(w.object("b")->body == plan.copies[0]->to);
  CHECK(w.object("b")->body != before);
  CHECK(w.object("b")->attributes.at("kept") == "yes");
  CHECK(w.object("b")->omap != 0);
  CHECK((w.read("b") == expected));
  CHECK((w.read("a") == source));
  w.check_alive();
  // What ops before it in the transaction have done to either counts, and what comes behind it.
  std::string again = w.read("b");
  again.replace(5, 3, "own");
  again.resize(20 * kPageSpan);
  std::string changed = source;
  changed.replace(3 * kPageSpan + 150, 4, "new!");
  again.replace(12 * kPageSpan, 8 * kPageSpan, changed, 0, 8 * kPageSpan);
  again.replace(13 * kPageSpan, 5, "after");
  w.must([](Transaction& t) {
    t.write("c", "a", 3 * kPageSpan + 150, as_bytes("new!"));
    t.write("c", "b", 5, as_bytes("own"));
    t.clone_range("c", "a", 0, 8 * kPageSpan, "c", "b", 12 * kPageSpan);
    t.write("c", "b", 13 * kPageSpan, as_bytes("after"));
  });
  CHECK((w.read("b") == again));
  w.check_alive();
  // Onto itself.
  w.must([](Transaction& t) {
    t.clone_range("c", "b", 7, 9 * kPageSpan, "c", "b", 20 * kPageSpan - 1);
  });
  again.resize(29 * kPageSpan - 1);
  again.replace(20 * kPageSpan - 1, 9 * kPageSpan, again.substr(7, 9 * kPageSpan));
  CHECK((w.read("b") == again));
  w.check_alive();
  w.must([](Transaction& t) {
    t.remove("c", "a");
    t.remove("c", "b");
  });
  CHECK(w.alive.blobs.empty());
}

TEST_CASE("plan_clones: what several clones want copied is asked for at once") {
  PlannerWorld w;
  w.must([](Transaction& t) { write_pages(t, "a", 0, kMany); });
  w.must([](Transaction& t) { write_pages(t, "b", 0, kMany, 'b'); });
  w.must([](Transaction& t) { t.put("c", "small", "s"); });
  const auto build = [](Transaction& t) {
    t.expect_absent("c", "x");
    t.clone("c", "a", "c", "x");
    t.expect_absent("c", "y");
    t.clone("c", "b", "c", "y");
    t.remove_attr("c", "y", "k");
    t.clone("c", "x", "c", "z");      // of what is not there yet
    t.clone("c", "small", "c", "a");  // page by page
    t.clone("c", "a", "c", "v");      // of what is another object by then
    t.clone("c", "b", "c", "u");
    t.touch("c", "new");
    t.clone("c", "b", "c", "late");  // who knows, behind other ops
  };
  Transaction t;
  build(t);
  w.prepared = w.prepare(t);
  const Plan first = plan_transaction(t, w.prepared, w.context, w.source).value();
  std::vector<std::pair<std::size_t, BodyId>> copies;
  for (const Redo& redo : first.redo) copies.emplace_back(redo.op, redo.copy);
  const BodyId a = w.object("a")->body;
  const BodyId b = w.object("b")->body;
  CHECK((copies == std::vector<std::pair<std::size_t, BodyId>>{{1, a}, {3, b}, {8, b}}));
  // What has been copied is not asked for again.
  w.prepared[8].copied = w.copy(b);
  CHECK(plan_transaction(t, w.prepared, w.context, w.source)->redo.size() == 2);
  w.drop(w.prepared[8].copied->to);
  w.must(build);
  CHECK(w.read("x")[kPageSpan] == 'x');
  CHECK(w.read("z")[kPageSpan] == 'x');
  CHECK(w.read("y")[kPageSpan] == 'b');
  CHECK(w.read("v") == "s");
  CHECK(w.read("late")[kPageSpan] == 'b');
  w.check_alive();
}

TEST_CASE("plan_clones: what is cut off of the source after it was copied is not shown") {
  const bool is_range = GENERATE(false, true);
  CAPTURE(is_range);
  PlannerWorld w;
  w.context.clones_at_once = 2;
  w.context.ranges_at_once = 2;
  w.context.drops_at_once = 2;
  w.must([](Transaction& t) {
    write_pages(t, "a", 0, 20);
    write_pages(t, "b", 0, 2, 'b');
  });
  const BodyId body = w.object("a")->body;
  const ShiftedRange some{0, 12 * kPageSpan, kPageSpan};
  const ShiftedRange range = is_range ? some : ShiftedRange();
  Transaction t;
  if (is_range) t.clone_range("c", "a", range.offset, range.length, "c", "b", range.to_offset);
  if (!is_range) t.clone("c", "a", "c", "b");
  const std::shared_ptr<CopiedPages> copied = w.copy(body, range);
  const auto plan = [&] {
    w.prepared = w.prepare(t);
    w.prepared[0].copied = copied;
    w.context.lsn = w.last_lsn + 1;
    w.context.time = 1;
    Plan planned = plan_transaction(t, w.prepared, w.context, w.source).value();
    REQUIRE(planned.redo.empty());
    return planned;
  };
  w.must([](Transaction& other) { other.zero("c", "a", 14 * kPageSpan, 6 * kPageSpan); });
  REQUIRE(is_cut(w.object("a")->cuts, 17));
  CHECK(plan().cut.empty());  // outside of the range
  // No image of a page says so, so nobody has told the copy.
  w.must([](Transaction& other) { other.zero("c", "a", 3 * kPageSpan, 6 * kPageSpan); });
  REQUIRE(is_cut(w.object("a")->cuts, 7));
  Plan planned = plan();
  CHECK(planned.cut.size() == (is_range ? 1 : 0));
  if (!planned.cut.empty()) {
    CHECK(planned.cut.front() == body);
    // What takes the pages back does tell it.
    w.take_cuts(body, 10'000);
    for (std::uint32_t page = 3; page < 9; ++page) copied->note_change(page);
    planned = plan();
    REQUIRE(planned.cut.empty());
  }
  std::string expected = w.read("a");
  if (is_range) {
    std::string before = w.read("b");
    before.resize(range.to_end());
    expected = before.replace(range.to_offset, range.length, expected, 0, range.length);
  }
  w.commit(t, planned);
  CHECK((w.read("b") == expected));
  w.check_cuts();
  w.check_alive();
}

TEST_CASE("plan_clones: pages that others change while an object is copied are put in place") {
  PlannerWorld w;
  w.must([](Transaction& t) { write_pages(t, "a", 0, kMany); });
  const std::shared_ptr<CopiedPages> copied = w.copy(w.object("a")->body);
  w.must([](Transaction& t) {
    write_pages(t, "a", 3, 4, 'y');
    t.zero("c", "a", 5 * kPageSpan, kPageSpan);
    write_pages(t, "a", kMany + 7, kMany + 8, 'z');
  });
  for (const std::uint32_t page : {3U, 5U, static_cast<std::uint32_t>(kMany + 7)}) {
    copied->note_change(page);
  }
  Transaction t;
  write_pages(t, "a", 9, 10, 'w');
  t.clone("c", "a", "c", "b");
  write_pages(t, "a", 10, 11, 'v');
  w.context.lsn = w.last_lsn + 1;
  w.context.time = 1;
  w.prepared = w.prepare(t);
  for (PreparedOp& op : w.prepared) {
    for (PayloadPiece& piece : op.pieces) {
      piece.prepared.blob.log = {w.context.lsn, static_cast<std::uint32_t>(&op - &w.prepared[0])};
    }
  }
  w.prepared[1].copied = copied;
  const Plan plan = plan_transaction(t, w.prepared, w.context, w.source).value();
  REQUIRE(plan.redo.empty());
  w.commit(t, plan);
  w.check_alive();
  const std::string copy = w.read("b");
  CHECK(copy[3 * kPageSpan] == 'y');
  CHECK(copy[5 * kPageSpan] == '\0');
  CHECK(copy[9 * kPageSpan] == 'w');
  CHECK(copy[10 * kPageSpan] == 'x');
  CHECK(copy[(kMany + 7) * kPageSpan] == 'z');
  CHECK(w.read("a")[10 * kPageSpan] == 'v');

  // More of them than a transaction copies itself are copied beside it, again.
  const std::shared_ptr<CopiedPages> old = w.copy(w.object("a")->body);
  for (std::uint32_t page = 0; page <= kFewStalePages; ++page) old->note_change(page);
  Transaction another;
  another.clone("c", "a", "c", "b");
  w.prepared = w.prepare(another);
  w.prepared[0].copied = old;
  CHECK(plan_transaction(another, w.prepared, w.context, w.source)->redo.size() == 1);
  w.drop(old->to);
  w.check_alive();
}

TEST_CASE("plan_clones: clones of clones, cut and removed again, in one transaction") {
  PlannerWorld w;
  w.must([](Transaction& t) { write_pages(t, "a", 0, kMany); });
  w.must([](Transaction& t) {
    t.clone("c", "a", "c", "b");
    write_pages(t, "b", 1, 2, 'b');
    t.clone("c", "b", "c", "d");
    t.truncate("c", "b", 2 * kPageSpan);
    t.clone("c", "d", "c", "gone");
    t.remove("c", "gone");
    t.clone("c", "a", "c", "e");
    t.remove("c", "a");
  });
  w.check_cuts();
  w.check_alive();
  CHECK_FALSE(w.object("a").has_value());
  CHECK_FALSE(w.object("gone").has_value());
  CHECK(w.read("b").size() == 2 * kPageSpan);
  CHECK(w.read("b")[kPageSpan] == 'b');
  CHECK(w.read("d")[kPageSpan] == 'b');
  CHECK(w.read("d")[5 * kPageSpan] == 'x');
  CHECK(w.read("e")[kPageSpan] == 'x');
}

TEST_CASE("plan_clones: what is cut off of the source while it is copied shows in no clone") {
  PlannerWorld w;
  w.must([](Transaction& t) { write_pages(t, "a", 0, 2 * kMany); });
  const std::shared_ptr<CopiedPages> copied = w.copy(w.object("a")->body);
  w.must([](Transaction& t) { t.zero("c", "a", kPageSpan, (2 * kMany - 1) * kPageSpan); });
  w.must([](Transaction& t) { write_pages(t, "a", 70, 70 + kMany, 'y'); });
  for (std::uint64_t page = 70; page < 70 + kMany; ++page) {
    copied->note_change(static_cast<std::uint32_t>(page));
  }
  w.context.clones_at_once = 0;
  Transaction t;
  t.clone("c", "a", "c", "b");
  w.prepared = w.prepare(t);
  w.prepared[0].copied = copied;
  w.context.lsn = w.last_lsn + 1;
  w.context.time = 1;
  CHECK_FALSE(plan_transaction(t, w.prepared, w.context, w.source)->redo.empty());
  while (copied->stale.size() > kFewStalePages) copied->stale.erase(copied->stale.begin());
  // Those that are taken off the list here have not changed again: the copy has them as they were.
  const Plan plan = plan_transaction(t, w.prepared, w.context, w.source).value();
  REQUIRE(plan.redo.empty());
  w.commit(t, plan);
  w.check_cuts();
  CHECK(w.object("b")->cuts == w.object("a")->cuts);
  CHECK(w.read("b")[kPageSpan] == '\0');
  CHECK(w.read("b")[(69 + kMany) * kPageSpan] == 'y');
  w.take_cuts(w.object("b")->body, ~std::size_t{0});
  w.check_alive();
}

}  // namespace
}  // namespace hexad::core
