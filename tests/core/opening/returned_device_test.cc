#include "core/opening/returned_device.h"

#include <catch2/catch.hpp>
#include <string>

#include "alloc/root_choice.h"
#include "core/opening/device_survey.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

using core::Member;
using core::ReturnedTo;

// A store whose device 2 has left, with that root: what an open one would ask for.
struct World {
  World() {
    {
      Store store = fixture.open();
      REQUIRE(put(store, "a", "1").ok());
      REQUIRE(store.close().ok());
    }
    core::Survey survey =
        core::survey_devices(fixture.pool, io::OpenMode::kReadOnly, fixture.memory).value();
    core::Assignment assignment = core::assign_members(survey).value();
    member.id = 2;
    for (const Member& one : assignment.members) {
      if (one.id == 2) member.uuid = one.uuid;
      if (one.id == 2) member.layout = one.layout;
      if (one.id == 3) to.label = *one.label;
    }
    to.store = survey.store;
    to.parities = 2;
    to.root = assignment.choice.root;
    alloc::mark_left(to.root, 2, 1);
    to.member = &member;
  }
  std::string refused(const std::string& path, ErrorCode code) {
    const Result<Member> opened = core::open_returned(path, to, fixture.memory);
    REQUIRE(code_of(opened) == code);
    return opened.error().message;
  }
  // What a look at the path says; the device may be in use.
  core::ReturnLook look(const std::string& path) {
    return core::judge_look(core::survey_device(path, io::OpenMode::kLook, fixture.memory), to);
  }
  bool refused_at_a_look(const std::string& path) {
    const core::ReturnLook found = look(path);
    REQUIRE_FALSE(found.why.empty());
    return found.found == core::ReturnLook::Found::kRefused;
  }

  StoreFixture fixture;
  Member member;
  ReturnedTo to;
};

TEST_CASE("returned device: the one that left stays open, with its lock, and nothing is written") {
  World world;
  const auto before = world.fixture.fingerprint();
  {
    const Result<Member> opened =
        core::open_returned(world.fixture.device(2), world.to, world.fixture.memory);
    REQUIRE(message_of(opened.status()) == "");
    REQUIRE(opened->id == 2);
    REQUIRE(opened->path == world.fixture.device(2));
    REQUIRE(opened->layout.device_size == world.member.layout.device_size);
    REQUIRE(opened->label->device == 2);
    REQUIRE(opened->device != nullptr);
    // One at a time.
    world.refused(world.fixture.device(2), ErrorCode::kBusy);
    REQUIRE(world.look(world.fixture.device(2)).found == core::ReturnLook::Found::kFits);
  }
  REQUIRE((world.fixture.fingerprint() == before));
}

TEST_CASE("returned device: what is another one, or was away before, is refused and closed") {
  World world;
  const std::string path = world.fixture.device(2);
  REQUIRE_THAT(world.refused(world.fixture.device(3), ErrorCode::kInvalidArgument),
               Catch::Contains("device 3 of this store, not device 2"));
  REQUIRE(world.refused_at_a_look(world.fixture.device(3)));
  world.refused("nowhere", ErrorCode::kNotFound);
  REQUIRE_FALSE(world.refused_at_a_look("nowhere"));
  SECTION("of another store") {
    world.to.store.bytes[0] ^= 1;
    REQUIRE_THAT(world.refused(path, ErrorCode::kInvalidArgument),
                 Catch::Contains("another store"));
    REQUIRE(world.refused_at_a_look(path));
  }
  SECTION("another device in its place") {
    world.member.uuid.bytes[0] ^= 1;
    REQUIRE_THAT(world.refused(path, ErrorCode::kInvalidArgument),
                 Catch::Contains("another device than the member"));
  }
  SECTION("laid out otherwise") {
    ++world.member.layout.slab_count;
    world.refused(path, ErrorCode::kCorruption);
  }
  SECTION("not left yet") {
    alloc::mark_back(world.to.root, 2, world.member.uuid);
    REQUIRE_THAT(world.refused(path, ErrorCode::kUnavailable),
                 Catch::Contains("has not left the pool yet"));
    REQUIRE_FALSE(world.refused_at_a_look(path));
  }
  SECTION("older than confirmed") {
    world.to.root.sequence += 5;
    for (alloc::RootDevice& row : world.to.root.devices) row.state = alloc::MemberState::kLive;
    alloc::record_written(world.to.root, std::vector<DeviceId>{0, 1, 2, 3, 4, 5});
    alloc::mark_left(world.to.root, 2, 1);
    REQUIRE_THAT(world.refused(path, ErrorCode::kUnavailable), Catch::Contains("stale"));
    REQUIRE(world.refused_at_a_look(path));
  }
  SECTION("used elsewhere since") {
    {
      Store store = world.fixture.open();
      REQUIRE(store.close().ok());
    }
    world.refused(path, ErrorCode::kInvalidArgument);
    REQUIRE(world.refused_at_a_look(path));
  }
  // Whatever it was, nobody has it now.
  REQUIRE(world.fixture.memory.open_device(path, io::OpenMode::kReadWrite).ok());
}

}  // namespace
}  // namespace hexad::testing
