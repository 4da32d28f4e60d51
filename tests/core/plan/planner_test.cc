#include "core/plan/planner.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "base/units.h"
#include "core/record/keys.h"
#include "io/rng.h"
#include "tests/base/thinned.h"
#include "tests/core/plan/planner_world.h"
#include "tests/core/sample_records.h"

namespace hexad::core {
namespace {

using hexad::testing::kThinned;

using testing::PlannerWorld;
using testing::text;

TEST_CASE("planner: a put leaves one image, its owner, and the release of what was there") {
  PlannerWorld w;
  Plan plan = w.must([](Transaction& t) { t.put("c", "a", text(5000)); });
  const LogPlace first{w.last_lsn, 0};
  REQUIRE(plan.record.images.size() == 1);
  CHECK(plan.record.images[0].key == object_key(1, "a"));
  CHECK(plan.refers_to({0, 0, 0, 0, first}));
  REQUIRE(plan.owners.size() == 1);
  CHECK(plan.owners[0]->key == object_key(1, "a"));
  CHECK(plan.owners[0]->offset == 0);
  CHECK(plan.stripes.empty());
  CHECK(plan.record.allocated.empty());  // the caller adds the stripes of prepared blobs
  CHECK(w.object("a")->version == w.last_lsn);
  CHECK(w.object("a")->mtime == w.context.time);
  CHECK(has_unplaced_blob(plan.record.images[0].value.value()));

  plan = w.must([](Transaction& t) { t.put("c", "a", text(32'000)); });
  CHECK(plan.record.unplaced_releases == std::vector<LogPlace>{first});
  CHECK(plan.owners.empty());
  CHECK(plan.stripes.size() == 1);
  const alloc::Extent stripe = w.object("a")->extents.at(0).blob.where;
  plan = w.must([](Transaction& t) { t.put("c", "a", "tiny"); });
  CHECK(plan.record.freed == std::vector<alloc::Extent>{stripe});
  CHECK(w.object("a")->extents.at(0).is_inline());
  plan = w.must([](Transaction& t) { t.remove("c", "a"); });
  CHECK(plan.record.images == std::vector<PostImage>{{object_key(1, "a"), std::nullopt}});
  CHECK(w.alive.blobs.empty());
}

TEST_CASE("planner: what a later op replaces is neither referenced nor dies") {
  PlannerWorld w;
  const Plan plan = w.must([](Transaction& t) {
    t.put("c", "a", text(5000, 'x'));
    t.put("c", "a", text(6000, 'y'));
    t.put("c", "b", text(300, 'z'));
    t.rename("c", "b", "c", "z");
  });
  const auto refers_to = [&](std::uint32_t index) {
    return plan.refers_to({0, 0, 0, 0, {w.last_lsn, index}});
  };
  CHECK_FALSE(refers_to(0));
  CHECK(refers_to(1));
  CHECK(refers_to(2));
  CHECK_FALSE(refers_to(3));
  CHECK(plan.owners.at(2)->key == object_key(1, "z"));
  CHECK(plan.record.unplaced_releases.empty());
  CHECK(w.read("a") == text(6000, 'y'));
  CHECK(w.read("z") == text(300, 'z'));
  CHECK_FALSE(w.object("b").has_value());
  w.check_alive();
}

TEST_CASE("planner: an owner's offset is where the blob begins, whatever of it is still shown") {
  PlannerWorld w;
  const Plan plan = w.must([](Transaction& t) {
    t.write("c", "a", 3 * kPageSpan + 1000, as_bytes(text(5000)));
    t.write("c", "a", 3 * kPageSpan + 500, as_bytes(text(600)));
  });
  CHECK(plan.owners.at(0)->offset == 3 * kPageSpan + 1000);
  CHECK(plan.owners.at(1)->offset == 3 * kPageSpan + 500);
  w.check_alive();
}

TEST_CASE("planner: errors name the object, and leave nothing behind") {
  PlannerWorld w;
  w.must([](Transaction& t) { t.put("c", "a", text(5000)); });
  const Lsn version = w.object("a")->version;
  using Code = ErrorCode;
  CHECK(w.refused([](Transaction& t) { t.put("none", "a", "x"); }) == Code::kNotFound);
  CHECK(w.refused([](Transaction& t) { t.create("c", "a"); }) == Code::kAlreadyExists);
  CHECK(w.refused([](Transaction& t) { t.create_collection("c"); }) == Code::kAlreadyExists);
  CHECK(w.refused([](Transaction& t) { t.remove_collection("c"); }) == Code::kNotEmpty);
  CHECK(w.refused([](Transaction& t) { t.remove_collection("d"); }) == Code::kNotFound);
  CHECK(w.refused([](Transaction& t) { t.set_attr("c", "b", "k", "v"); }) == Code::kNotFound);
  CHECK(w.refused([](Transaction& t) { t.rename("c", "b", "c", "d"); }) == Code::kNotFound);
  CHECK(w.refused([](Transaction& t) { t.rename("c", "a", "c", "a"); }) == Code::kAlreadyExists);
  CHECK(w.refused([](Transaction& t) { t.expect_absent("c", "a"); }) == Code::kConflict);
  CHECK(w.refused([](Transaction& t) { t.expect_exists("c", "b"); }) == Code::kConflict);
  CHECK(w.refused([](Transaction& t) { t.expect_exists("d", "b"); }) == Code::kConflict);
  CHECK(w.refused([&](Transaction& t) { t.expect_version("c", "a", version + 1); }) ==
        Code::kConflict);
  // Guards look at the state before, wherever they stand.
  CHECK(w.refused([](Transaction& t) {
    t.remove("c", "a");
    t.expect_absent("c", "a");
  }) == Code::kConflict);
  CHECK(w.refused([](Transaction& t) {
    t.set_attr("c", "a", "k", text(40'000));
    t.set_attr("c", "a", "l", text(40'000));
  }) == Code::kTooBig);
  CHECK(w.refused([](Transaction& t) {
    t.truncate("c", "a", kMaxObjectSize - 10);
    t.append("c", "a", as_bytes(text(11)));
  }) == Code::kTooBig);
  w.source.map[object_key(1, "broken")] = "\x01\x01";
  CHECK(w.refused([](Transaction& t) { t.touch("c", "broken"); }) == Code::kCorruption);
  w.source.fails = true;
  CHECK(w.refused([](Transaction& t) { t.put("c", "a", "x"); }) == Code::kIo);
}

TEST_CASE("planner: small writes that no longer fit inline are asked for as blobs") {
  PlannerWorld w;
  for (std::uint64_t i = 0; i < 16; ++i) {
    w.must([&](Transaction& t) { t.write("c", "a", i * 1000, as_bytes(text(256))); });
  }
  CHECK(w.alive.blobs.empty());
  w.must([](Transaction& t) { t.write("c", "a", 20'000, as_bytes(text(100))); });
  CHECK(w.alive.blobs.size() == 1);
  CHECK(w.read("a").size() == 20'100);
}

TEST_CASE("planner: an append is cut for the size that the object has") {
  PlannerWorld w;
  w.must([](Transaction& t) { t.put("c", "a", text(kPageSpan - 100, 'a')); });
  const Plan plan = w.must([](Transaction& t) {
    t.append("c", "a", as_bytes(text(5000, 'b')));
    t.append("c", "a", as_bytes(text(5000, 'c')));
  });
  CHECK(w.read("a") == text(kPageSpan - 100, 'a') + text(5000, 'b') + text(5000, 'c'));
  CHECK(w.object("a")->body != 0);
  w.check_alive();
}

// An object in the simplest words.
struct ModelObject {
  std::string data;
  Attributes attributes;
};

TEST_CASE("planner: random transactions match strings, and every blob dies exactly once") {
  const std::uint64_t seed = GENERATE(range(1, 1 + 16 / static_cast<int>(kThinned)));
  CAPTURE(seed);
  io::Rng rng(seed);
  PlannerWorld w;
  w.context.accept_crowded = true;
  // Half of them cut whole pages off wherever they can.
  const bool cuts = seed % 2 == 0;
  if (cuts) w.context.drops_at_once = rng.below(2);
  if (seed % 3 == 0) w.context.clones_at_once = 0;
  if (seed % 4 < 2) w.context.ranges_at_once = seed % 4;
  std::map<std::string, ModelObject> model;
  for (int step = 0; step < 250; ++step) {
    CAPTURE(step);
    auto changed = model;
    std::vector<std::string> payloads;
    const Plan plan = w.must([&](Transaction& t) {
      for (std::uint64_t i = 1 + rng.below(4); i > 0; --i) {
        const std::string name(1, static_cast<char>('a' + rng.below(5)));
        const std::string payload =
            text(1 + rng.below(1u << (3 + rng.below(14))), static_cast<char>('A' + rng.below(26)));
        const bool there = changed.contains(name);
        ModelObject& object = changed[name];
        const std::uint64_t size = object.data.size();
        const std::uint64_t offset = rng.below(rng.chance(1, 4) ? 3 * kPageSpan : size + 1000);
        switch (rng.below(13)) {
          case 0:
            t.put("c", name, payload);
            object.data = payload;
            break;
          case 1:
          case 2:
            t.write("c", name, offset, as_bytes(payload));
            object.data.resize(std::max<std::uint64_t>(size, offset + payload.size()));
            object.data.replace(offset, payload.size(), payload);
            break;
          case 3:
            t.append("c", name, as_bytes(payload));
            object.data += payload;
            break;
          case 4: {
            const std::uint64_t length =
                rng.chance(1, 2) ? payload.size() : rng.below(3 * kPageSpan) + 1;
            t.zero("c", name, offset, length);
            object.data.resize(std::max<std::uint64_t>(size, offset + length));
            object.data.replace(offset, length, length, '\0');
            break;
          }
          case 5:
            t.truncate("c", name, offset);
            object.data.resize(offset);
            if (!there) changed.erase(name);
            break;
          case 6:
            t.remove("c", name);
            changed.erase(name);
            break;
          case 7:
            t.touch("c", name);
            t.set_attr("c", name, "k", payload.substr(0, 20));
            object.attributes["k"] = payload.substr(0, 20);
            break;
          case 8:
          case 9: {
            const std::string to(1, static_cast<char>('a' + rng.below(5)));
            t.touch("c", name);
            if (to == name) break;
            t.clone("c", name, "c", to);
            ModelObject copy = object;
            changed[to] = std::move(copy);
            break;
          }
          case 10:
          case 11: {
            const std::string to(1, static_cast<char>('a' + rng.below(5)));
            t.touch("c", name);
            const std::uint64_t from = rng.below(size + 1);
            const std::uint64_t length = rng.below(size - from + 1);
            const std::uint64_t apart = from > offset ? from - offset : offset - from;
            if (to == name && apart < length) break;
            t.clone_range("c", name, from, length, "c", to, offset);
            const std::string shown = object.data.substr(from, length);
            std::string& data = changed[to].data;
            if (length == 0) break;
            data.resize(std::max<std::uint64_t>(data.size(), offset + length));
            data.replace(offset, length, shown);
            break;
          }
          default: {
            const std::string to(1, static_cast<char>('a' + rng.below(5)));
            t.touch("c", name);
            if (to == name) break;
            t.remove("c", to);
            t.rename("c", name, "c", to);
            ModelObject moved = std::move(object);
            changed.erase(name);
            changed[to] = std::move(moved);
          }
        }
      }
    });
    model = std::move(changed);
    REQUIRE((cuts || plan.deletions.empty()));
    const std::set<BodyId> bodies = w.cut_bodies;
    for (const BodyId body : bodies) {
      if (rng.chance(1, 3)) w.take_cuts(body, rng.below(3));
    }
    w.check_cuts();
    w.check_alive();
    for (const std::string name : {"a", "b", "c", "d", "e"}) {
      CAPTURE(name);
      REQUIRE(w.object(name).has_value() == model.contains(name));
      if (!model.contains(name)) continue;
      REQUIRE((w.read(name) == model[name].data));
      REQUIRE(w.object(name)->attributes == model[name].attributes);
    }
  }
  for (const BodyId body : std::set<BodyId>(w.cut_bodies)) w.take_cuts(body, ~std::size_t{0});
  w.check_alive();
  for (const auto& [key, value] : w.source.map) REQUIRE_FALSE(parse_cut_key(key).ok());
}

}  // namespace
}  // namespace hexad::core
