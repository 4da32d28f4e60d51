#include "core/plan_clones.h"

#include <catch2/catch.hpp>

#include "base/units.h"
#include "core/keys.h"
#include "tests/core/planner_world.h"

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
  CHECK(plan.record.young_deaths.empty());
  CHECK(plan.owners.empty());  // no blob of its own
  CHECK(plan.stripes.empty());
  const ObjectRecord source = w.object("a").value();
  const ObjectRecord copy = w.object("b").value();
  CHECK(source.version == before.version);
  CHECK(source.mtime == before.mtime);
  CHECK(copy.version == w.last_lsn);
  CHECK(copy.attributes == before.attributes);
  CHECK(copy.extents == source.extents);
  const ShareId share = copy.extents.at(0).blob.share;
  CHECK(share != 0);
  CHECK(w.owners_of(share) == 2);
  w.check_alive();

  // The second one of the same blob rewrites the source no more.
  plan = w.must([](Transaction& t) { t.clone("c", "a", "c", "d"); });
  CHECK(plan.record.images.size() == 2);
  CHECK(w.owners_of(share) == 3);
  w.must([](Transaction& t) { t.put("c", "a", text(300, 'y')); });
  w.must([](Transaction& t) { t.remove("c", "d"); });
  CHECK(w.source.map.count(share_key(share)) == 0);
  CHECK(w.read("b") == text(5000));
  plan = w.must([](Transaction& t) { t.write("c", "b", 0, as_bytes(text(5000, 'z'))); });
  CHECK(plan.record.young_deaths.size() == 1);
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
  CHECK(plan.record.young_deaths.empty());
  CHECK(w.read("a") == text(1000, 'a') + text(1000, 'x') + text(3000, 'a'));
  CHECK(w.read("d") == text(5000, 'a'));
  CHECK(w.read("new") == text(5000, 'o'));
  w.check_alive();
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
    "plan_clones: a large object that is cloned and doomed at once keeps what the clone shows") {
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
  CHECK(plan.doomed.bodies.size() == 1);
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

}  // namespace
}  // namespace hexad::core
