#include "core/opening/new_device.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "alloc/device_layout.h"
#include "alloc/root_choice.h"
#include "core/opening/device_survey.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

using core::AddedDevice;
using core::AddedTo;
using core::Member;

// A store that has been closed, with what an open one would ask for.
struct World {
  World() {
    REQUIRE(fixture.open().close().ok());
    core::Survey survey =
        core::survey_devices(fixture.pool, io::OpenMode::kReadOnly, fixture.memory).value();
    core::Assignment assignment = core::assign_members(survey).value();
    to.parities = 2;
    to.root = assignment.choice.root;
    for (const Member& one : assignment.members) {
      if (one.id == 0) to.label = *one.label;
      if (one.id == 0) to.file_size = one.layout.device_size;
    }
  }
  std::string refused(const std::string& path, ErrorCode code) {
    const Result<AddedDevice> made = core::make_added_device(path, to, fixture.memory);
    REQUIRE(code_of(made) == code);
    return made.error().message;
  }
  void make() {
    const Result<AddedDevice> made = core::make_added_device("fresh", to, fixture.memory);
    REQUIRE(message_of(made.status()) == "");
  }
  void overwrite(const std::string& path, std::uint64_t offset, std::uint64_t size, char with) {
    auto device = fixture.memory.open_device(path, io::OpenMode::kReadWrite);
    REQUIRE(device.ok());
    AlignedBuffer bytes = AlignedBuffer::zeroed(size);
    std::fill(bytes.bytes().begin(), bytes.bytes().end(), static_cast<std::byte>(with));
    REQUIRE((*device)->write(offset, bytes.bytes()).ok());
  }

  StoreFixture fixture;
  AddedTo to;
};

TEST_CASE("new device: a file is made, shows the root of now, and is foreign to that") {
  World world;
  Uuid first;
  for (const bool again : {false, true}) {
    CAPTURE(again);
    {
      const Result<AddedDevice> made =
          core::make_added_device("fresh", world.to, world.fixture.memory);
      REQUIRE(message_of(made.status()) == "");
      CHECK(made->member.id == world.to.root.next_device);
      CHECK(made->member.path == "fresh");
      CHECK(made->created == !again);
      CHECK(made->member.layout == made->member.label->layout);
      CHECK(made->member.layout.device_size == world.to.file_size);
      CHECK(made->member.layout.slab_units == world.to.label.layout.slab_units);
      CHECK(made->member.uuid != first);
      first = made->member.uuid;
      // One at a time.
      world.refused("fresh", ErrorCode::kBusy);
    }
    const core::SurveyedDevice found =
        core::survey_device("fresh", io::OpenMode::kReadOnly, world.fixture.memory);
    REQUIRE_FALSE(found.problem.has_value());
    CHECK(found.label->device == world.to.root.next_device);
    CHECK(found.label->device_uuid == first);
    REQUIRE(found.roots == std::vector<alloc::Root>{world.to.root});
  }
  // With it named beside the others the store is as it was.
  world.fixture.pool.devices.emplace_back("fresh");
  Store store = world.fixture.open();
  CHECK(store.status().health == Health::kOk);
  CHECK(store.status().devices.back().path == "fresh");
  CHECK(store.status().devices.back().state == "foreign");
}

TEST_CASE("new device: a larger one has more slabs") {
  World world;
  const std::uint32_t like = world.to.label.layout.slab_count;
  world.to.file_size *= 3;
  const Result<AddedDevice> made = core::make_added_device("fresh", world.to, world.fixture.memory);
  REQUIRE(message_of(made.status()) == "");
  CHECK(made->member.layout.slab_count > 2 * like);
}

TEST_CASE("new device: what is somebody's, or does not fit, is refused and not touched") {
  World world;
  CHECK_THAT(world.refused(world.fixture.device(3), ErrorCode::kAlreadyExists),
             Catch::Contains("of which it is device 3"));
  CHECK(world.fixture.open().close().ok());
  SECTION("a device that the store has open under another name") {
    // To the one who asks, a store that has it open and its own look alike.
    const Store store = world.fixture.open();
    CHECK_THAT(world.refused(world.fixture.device(3), ErrorCode::kAlreadyExists),
               Catch::Contains("is device 3 of the store, which has it under another name"));
  }
  SECTION("another store") {
    world.to.root.store.bytes[0] ^= 1;
    CHECK_THAT(world.refused(world.fixture.device(3), ErrorCode::kAlreadyExists),
               Catch::Contains("holds a hexad store"));
  }
  SECTION("no room for a slab") {
    world.to.file_size = alloc::kEndsSize + 64_KiB;
    world.refused("fresh", ErrorCode::kNoSpace);
  }
  SECTION("blocks that are too large") {
    world.to.label.layout.physical_block /= 2;
    world.refused("fresh", ErrorCode::kInvalidArgument);
  }
}

TEST_CASE("new device: one that went down before its second label was written is taken again") {
  World world;
  world.make();
  // The first copy is torn; with the second as it is the label is read from there.
  {
    auto device = world.fixture.memory.open_device("fresh", io::OpenMode::kReadWrite);
    REQUIRE(device.ok());
    AlignedBuffer head(4096);
    const std::uint64_t at = alloc::label_offset(alloc::DeviceEnd::kHead, world.to.file_size);
    REQUIRE((*device)->read(at, head.bytes()).ok());
    head.bytes()[100] ^= std::byte{1};
    REQUIRE((*device)->write(at, head.bytes()).ok());
  }
  SECTION("both copies are damaged: somebody's") {
    const std::uint64_t at = alloc::label_offset(alloc::DeviceEnd::kTail, world.to.file_size);
    auto device = world.fixture.memory.open_device("fresh", io::OpenMode::kReadWrite);
    REQUIRE(device.ok());
    AlignedBuffer tail(4096);
    REQUIRE((*device)->read(at, tail.bytes()).ok());
    tail.bytes()[100] ^= std::byte{1};
    REQUIRE((*device)->write(at, tail.bytes()).ok());
    device->reset();
    CHECK_THAT(world.refused("fresh", ErrorCode::kAlreadyExists),
               Catch::Contains("whose label is damaged"));
  }
  SECTION("the second one is not there") {
    world.overwrite("fresh", alloc::label_offset(alloc::DeviceEnd::kTail, world.to.file_size),
                    64_KiB, 0);
    world.make();
  }
}

}  // namespace
}  // namespace hexad::testing
