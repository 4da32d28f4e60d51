#include "core/plan/plan_cuts.h"

#include <catch2/catch.hpp>

#include "core/plan/counted_source.h"
#include "core/plan/plan_result.h"
#include "tests/core/plan/planner_world.h"

namespace hexad::core {
namespace {

using testing::PlannerWorld;
using testing::text;

// An object with something in each of its first pages.
BodyId make(PlannerWorld& w, std::uint64_t pages, const std::string& name = "a") {
  w.must([&](Transaction& t) {
    for (std::uint64_t page = 0; page < pages; ++page) {
      t.write("c", name, page * kPageSpan, as_bytes(text(400)));
    }
  });
  return w.object(name)->body;
}

void make_hole(Transaction& t, std::uint64_t from, std::uint64_t end,
               const std::string& name = "a") {
  t.zero("c", name, from * kPageSpan, (end - from) * kPageSpan);
}

TEST_CASE("plan_cuts: a truncated object of many pages costs a few keys, and they go later") {
  PlannerWorld w;
  const BodyId body = make(w, 3000);
  Transaction t;
  t.truncate("c", "a", 1);
  CountedSource counted(w.source);
  w.context.lsn = w.last_lsn + 1;
  w.prepared = w.prepare(t);
  const Plan plan = plan_transaction(t, w.prepared, w.context, counted).value();
  CHECK(counted.keys() < 2 * kMaxDroppedAtOnce);
  CHECK(plan.record.images.size() < 2 * kMaxDroppedAtOnce);
  CHECK(plan.deletions.cuts == std::vector<BodyId>{body});
  w.context.time = plan.record.time;
  w.commit(t, plan);
  w.check_cuts();
  w.check_alive();
  CHECK(w.read("a") == "x");
  CHECK(w.object("a")->cuts == PageCuts{{1, kEndOfPages}});
  w.take_cuts(body, 1000);
  w.check_cuts();
  w.take_cuts(body, 10'000);
  CHECK(w.source.map.count(cut_key(body)) == 0);
  CHECK(w.alive.blobs.size() == 1);
  w.check_alive();
  // The record follows when it is written the next time.
  CHECK_FALSE(w.object("a")->cuts.empty());
  w.must([](Transaction& next) { next.set_attr("c", "a", "k", "v"); });
  CHECK(w.object("a")->cuts.empty());
}

TEST_CASE("plan_cuts: what is written again comes out of the cut, and what was there dies then") {
  PlannerWorld w;
  const BodyId body = make(w, 200);
  w.must([](Transaction& t) { t.truncate("c", "a", 10 * kPageSpan); });
  CHECK(w.object("a")->cuts == PageCuts{{10, kEndOfPages}});
  // Page by page, as one appends: there is one cut all the time.
  for (std::uint64_t page = 10; page < 13; ++page) {
    w.must([&](Transaction& t) { t.write("c", "a", page * kPageSpan, as_bytes(text(500, 'y'))); });
    CHECK(w.object("a")->cuts == PageCuts{{static_cast<std::uint32_t>(page + 1), kEndOfPages}});
    w.check_cuts();
    w.check_alive();
  }
  const auto written_in_the_middle = [](Transaction& t) {
    t.write("c", "a", 150 * kPageSpan, as_bytes(text(500, 'z')));
  };
  const std::size_t alive = w.alive.blobs.size();
  w.must(written_in_the_middle);
  CHECK(w.alive.blobs.size() == alive);  // one for one
  CHECK(w.object("a")->cuts == PageCuts{{13, 150}, {151, kEndOfPages}});
  w.check_cuts();
  w.take_cuts(body, 10'000);
  w.check_alive();
  CHECK(w.read("a").substr(150 * kPageSpan, 500) == text(500, 'z'));
  CHECK(w.read("a").substr(11 * kPageSpan, 500) == text(500, 'y'));
  CHECK(w.read("a").substr(20 * kPageSpan, 500) == text(500, '\0'));
}

TEST_CASE("plan_cuts: the parts of pages at both ends of a hole stay what they are") {
  PlannerWorld w;
  make(w, 300);
  w.must([](Transaction& t) { t.zero("c", "a", 5 * kPageSpan + 100, 200 * kPageSpan); });
  CHECK(w.object("a")->cuts == PageCuts{{6, 205}});
  w.check_cuts();
  w.check_alive();
  const std::string data = w.read("a");
  CHECK(data.substr(5 * kPageSpan, 101) == text(100) + text(1, '\0'));
  CHECK(data.substr(205 * kPageSpan, 101) == text(100, '\0') + text(1));
  CHECK(data.substr(206 * kPageSpan, 400) == text(400));
}

TEST_CASE("plan_cuts: one transaction that writes, cuts and writes again leaves what it says") {
  PlannerWorld w;
  make(w, 200);
  w.must([](Transaction& t) {
    t.write("c", "a", 50 * kPageSpan, as_bytes(text(300, 'b')));
    t.write("c", "a", 60 * kPageSpan, as_bytes(text(300, 'b')));
    make_hole(t, 10, 190);
    t.write("c", "a", 60 * kPageSpan, as_bytes(text(300, 'c')));
    t.write("c", "a", 70 * kPageSpan, as_bytes(text(300, 'd')));
    t.rename("c", "a", "c", "b");
    make_hole(t, 65, 80, "b");
    t.write("c", "b", 71 * kPageSpan, as_bytes(text(300, 'e')));
  });
  w.check_cuts();
  w.check_alive();
  const std::string data = w.read("b");
  const auto at = [&](std::uint64_t page) { return data[page * kPageSpan]; };
  CHECK(at(9) == 'x');
  CHECK(at(50) == '\0');
  CHECK(at(60) == 'c');
  CHECK(at(70) == '\0');
  CHECK(at(71) == 'e');
  CHECK(at(190) == 'x');
}

TEST_CASE("plan_cuts: an object with cuts is given up as a whole, however short it has become") {
  PlannerWorld w;
  for (const bool same : {false, true}) {
    const BodyId body = make(w, 200);
    const auto cut = [](Transaction& t) { t.truncate("c", "a", 5); };
    const auto gone = [](Transaction& t) { t.remove("c", "a"); };
    if (!same) w.must(cut);
    const Plan plan = w.must([&](Transaction& t) {
      if (same) cut(t);
      gone(t);
    });
    CHECK(plan.deletions.bodies == std::vector<BodyId>{body});
    CHECK(plan.record.images.size() <= 4);
    w.take_cuts(body, 1);
    CHECK(w.alive.blobs.empty());
    w.check_alive();
  }
}

TEST_CASE("plan_cuts: a clone of an object with cuts has none, and shows the same") {
  PlannerWorld w;
  make(w, 200);
  w.must([](Transaction& t) {
    make_hole(t, 10, 190);
    t.write("c", "a", 60 * kPageSpan, as_bytes(text(300, 'c')));
    t.clone("c", "a", "c", "b");
  });
  CHECK(w.object("b")->cuts.empty());
  CHECK(w.object("a")->cuts == PageCuts{{10, 60}, {61, 190}});
  CHECK((w.read("a") == w.read("b")));
  w.check_cuts();
  w.check_alive();
  w.must([](Transaction& t) { t.remove("c", "a"); });
  CHECK(w.read("b")[60 * kPageSpan] == 'c');
  w.check_alive();
}

TEST_CASE("plan_cuts: too many cuts wait for the older ones, or are refused where there are none") {
  PlannerWorld w;
  w.context.drops_at_once = 0;
  constexpr std::uint64_t kPages = 2 * kMaxPageCuts + 10;
  const BodyId body = make(w, kPages);
  const auto cut_every_other = [](Transaction& t, std::uint64_t from, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) make_hole(t, from + 2 * i, from + 2 * i + 1);
  };
  CHECK(w.refused([&](Transaction& t) { cut_every_other(t, 0, kMaxPageCuts + 1); }) ==
        ErrorCode::kTooBig);
  w.must([&](Transaction& t) { cut_every_other(t, 0, kMaxPageCuts); });
  w.check_cuts();
  Transaction more;
  cut_every_other(more, 2 * kMaxPageCuts, 1);
  CHECK(w.plan(more)->cut == std::vector<BodyId>{body});
  w.take_cuts(body, 10'000);
  CHECK(w.plan(more)->cut.empty());
  w.check_alive();
}

TEST_CASE("plan_cuts: many holes in one transaction look at no more pages than a few of them") {
  PlannerWorld w;
  make(w, 4000);
  Transaction t;
  for (std::uint64_t i = 0; i < 60; ++i) make_hole(t, 60 * i, 60 * i + 59);
  CountedSource counted(w.source);
  w.context.lsn = w.last_lsn + 1;
  w.prepared = w.prepare(t);
  REQUIRE(plan_transaction(t, w.prepared, w.context, counted).ok());
  // Each looks at one more before it gives up.
  CHECK(counted.keys() <= kMaxDroppedPages + 3 * 60 + 10);
}

}  // namespace
}  // namespace hexad::core
