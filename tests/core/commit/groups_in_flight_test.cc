// How many groups may be in flight, and what they take.
#include "core/commit/groups_in_flight.h"

#include <utility>

#include "core/commit/group_requests.h"
#include "core/commit/open_group.h"
#include "tests/core/commit/commit_pipeline_world.h"

namespace hexad::testing {
namespace {

using core::CommitGroup;
using core::GroupsInFlight;

std::unique_ptr<CommitGroup> group(std::size_t callers, std::uint64_t unproven = 0) {
  auto made = std::make_unique<CommitGroup>();
  made->callers = callers;
  made->unproven = unproven;
  return made;
}

// So many groups more fit, of so many bytes each.
int slots(GroupsInFlight& groups, std::uint64_t bytes) {
  int found = 0;
  for (; groups.has_slot(bytes); ++found) groups.add(group(1, bytes));
  return found;
}

TEST_CASE("groups_in_flight: four groups, or eight large ones that recovery may prove") {
  PipelineWorld world;
  GroupsInFlight groups(world.executor, *world.members, LogDurability::kFull);
  SECTION("small") { REQUIRE(slots(groups, 0) == 4); }
  SECTION("large") { REQUIRE(slots(groups, core::kLargeGroup) == 8); }
  SECTION("larger than may be unproven together") {
    REQUIRE(slots(groups, core::kMaxUnproven / 5) == 5);
    groups.take_front();
    groups.take_front();
    REQUIRE(groups.unproven() == core::kMaxUnproven / 5 * 3);
    REQUIRE(groups.has_slot(core::kMaxUnproven / 5));
  }
}

TEST_CASE("groups_in_flight: who waits for what is not answered is under way") {
  PipelineWorld world;
  GroupsInFlight groups(world.executor, *world.members, LogDurability::kFull);
  groups.add(group(3))->answered = true;
  groups.add(group(4));
  groups.add(group(5));
  REQUIRE(groups.callers_under_way() == 9);
}

TEST_CASE(
    "groups_in_flight: with log durability fast what is answered is behind by 16 groups or 50 ms") {
  PipelineWorld world;
  GroupsInFlight groups(world.executor, *world.members, LogDurability::kFast);
  const io::Nanos now = world.executor.clock().now();
  int answered = 0;
  for (; groups.has_slot(0) && answered < 100; ++answered) {
    CommitGroup* const added = groups.add(group(1));
    added->answered = true;
    added->answered_at = now;
  }
  REQUIRE(answered == 16);
  while (groups.groups().size() > 1) groups.take_front();
  REQUIRE(groups.has_slot(0));
  world.system.run([&] { world.system.executor().sleep_for(60'000'000); });
  REQUIRE_FALSE(groups.has_slot(0));
}

TEST_CASE("groups_in_flight: a group is done when all its copies have their outcome") {
  PipelineWorld world;
  GroupsInFlight groups(world.executor, *world.members, LogDurability::kFast);
  CommitGroup* const first = groups.add(group(1));
  REQUIRE_FALSE(groups.front_done());
  first->main.over = true;
  REQUIRE_FALSE(groups.front_done());
  first->behind.over = true;
  REQUIRE(groups.front_done());
  REQUIRE(groups.all_io_done());
  CommitGroup* const second = groups.add(group(1));
  REQUIRE_FALSE(groups.all_io_done());
  groups.take_front();
  REQUIRE(groups.groups().front().get() == second);
}

}  // namespace
}  // namespace hexad::testing
