#include "core/check/damage_list.h"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "io/executor.h"

namespace hexad::core {
namespace {

DamagedBlob blob(std::uint32_t unit) { return {3, unit, 0, 0, 7}; }
DamageRecord record(std::int64_t when) { return {when, false, "lost"}; }

class World {
 public:
  // As the job does it.
  void write() { list.note_written(list.changes(1000)); }

  std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  DamageList list{*executor};
};

TEST_CASE("damage list: a blob is news once, and keeps when it was first seen") {
  World world;
  CHECK(world.list.empty());
  CHECK(world.list.note(blob(1), record(10)));
  CHECK_FALSE(world.list.note(blob(1), record(20)));
  REQUIRE(world.list.entries().size() == 1);
  CHECK(world.list.entries()[0].second.first_seen == 10);
  CHECK(world.list.count().unwritten == 1);
  world.write();
  CHECK(world.list.count().unwritten == 0);
  CHECK_FALSE(world.list.note(blob(1), record(30)));
  CHECK(world.list.count().unwritten == 0);
}

TEST_CASE("damage list: what goes is written, and may come back") {
  World world;
  world.list.load(blob(1), record(10));
  CHECK(world.list.count().unwritten == 0);
  const std::vector<DamagedBlob> one = {blob(1)};
  CHECK(world.list.drop(one));
  CHECK_FALSE(world.list.drop(one));
  CHECK(world.list.empty());
  CHECK(world.list.count().open == 0);
  REQUIRE(world.list.changes(10).size() == 1);
  CHECK_FALSE(world.list.changes(10)[0].record.has_value());
  CHECK(world.list.note(blob(1), record(40)));
  CHECK(world.list.changes(10)[0].record == record(40));
  world.list.drop(one);
  world.write();
  CHECK(world.list.changes(10).empty());
}

TEST_CASE("damage list: what changes while it is written is written again") {
  World world;
  world.list.note(blob(1), record(10));
  const std::vector<DamageList::Change> changes = world.list.changes(10);
  const std::vector<DamagedBlob> one = {blob(1)};
  CHECK(world.list.acknowledge(one));
  world.list.note_written(changes);
  REQUIRE(world.list.changes(10).size() == 1);
  CHECK(world.list.changes(10)[0].record->acknowledged);
  world.write();
  CHECK(world.list.changes(10).empty());
  CHECK_FALSE(world.list.acknowledge(one));
  CHECK(world.list.count().open == 0);
}

TEST_CASE("damage list: has a bound, and counts what is beyond it") {
  World world;
  for (std::uint32_t i = 0; i < kMostDamage; ++i) CHECK(world.list.note(blob(i), record(i)));
  CHECK_FALSE(world.list.note(blob(kMostDamage), record(0)));
  CHECK_FALSE(world.list.note(blob(0), record(0)));
  CHECK(world.list.count().open == kMostDamage);
  CHECK(world.list.count().dropped == 1);
  CHECK(world.list.changes(100).size() == 100);
  world.list.load(blob(kMostDamage), record(0));
  CHECK(world.list.entries().size() == kMostDamage);
}

TEST_CASE("damage list: suspects are told by the place of their stripe") {
  World world;
  world.list.suspect({1, 20, 4});
  CHECK(world.list.is_suspect({1, 20, 0}));
  CHECK_FALSE(world.list.is_suspect({2, 20, 0}));
  world.list.clear_suspects();
  CHECK_FALSE(world.list.is_suspect({1, 20, 0}));
}

}  // namespace
}  // namespace hexad::core
