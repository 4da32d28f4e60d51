#include "core/jobs/pending_deletions.h"

#include <catch2/catch.hpp>

#include "io/sim/sim_executor.h"

namespace hexad::core {
namespace {

struct World {
  void sleep(io::Nanos time) {
    sim.run([&] { sim.sleep_for(time); });
  }

  io::SimExecutor sim{3};
  PendingDeletions pending{sim};
};

TEST_CASE("pending deletions: bodies come first, then cuts, then names, one at a time") {
  World w;
  CHECK(w.pending.due() == std::nullopt);
  CHECK_FALSE(w.pending.take().has_value());
  w.pending.schedule({{1, 2}, {{5, "", ""}}, {3}});
  w.pending.schedule({{}, {}, {3}});  // once is enough
  CHECK(w.pending.due() == io::Nanos{0});
  CHECK(w.pending.take()->bodies == std::vector<BodyId>{1});
  w.pending.note_deleted();
  CHECK(w.pending.take()->bodies == std::vector<BodyId>{2});
  w.pending.note_deleted();
  CHECK(w.pending.take()->cuts == std::vector<BodyId>{3});
  w.pending.note_deleted();
  CHECK(w.pending.take()->names.size() == 1);
  w.pending.note_deleted();
  CHECK(w.pending.due() == std::nullopt);
}

TEST_CASE("pending deletions: what is left of one comes before others of its kind") {
  World w;
  w.pending.schedule({{}, {{5, "", ""}, {6, "", ""}}});
  std::optional<ScheduledDeletions> one = w.pending.take();
  w.pending.note_some_deleted(*std::move(one));
  CHECK(w.pending.take()->names.front().space == 5);
}

TEST_CASE("pending deletions: what failed comes last, after pauses that grow and end") {
  World w;
  w.pending.schedule({{1, 2}, {}});
  io::Nanos pause = PendingDeletions::kFirstPause;
  for (int i = 0; i < 12; ++i) {
    std::optional<ScheduledDeletions> one = w.pending.take();
    REQUIRE(one.has_value());
    REQUIRE(one->bodies.front() == BodyId(1 + i % 2));
    w.pending.note_failed(*std::move(one));
    REQUIRE(w.pending.due() == pause);
    REQUIRE_FALSE(w.pending.take().has_value());
    // What is scheduled meanwhile waits, too.
    w.sleep(pause);
    pause = std::min(2 * pause, PendingDeletions::kLongestPause);
  }
  REQUIRE(w.pending.take().has_value());
  w.pending.note_deleted();
  CHECK(w.pending.due() == io::Nanos{0});
}

}  // namespace
}  // namespace hexad::core
