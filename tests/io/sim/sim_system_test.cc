#include "io/sim/sim_system.h"

#include <catch2/catch.hpp>
#include <cerrno>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "tests/io/device_contract.h"

using namespace hexad;
using namespace hexad::io;
using hexad::io::testing::pattern;

TEST_CASE("sim_system: the nth request fails, once, for its kind, or for its disk") {
  using Stickiness = SimSystem::Stickiness;
  const AlignedBuffer data = pattern(1, 4096);
  const auto pattern_of = [&](Stickiness stickiness) {
    SimSystem system;
    std::unique_ptr<Device> devices[2] = {system.create_device("a", 1_MiB).value(),
                                          system.create_device("b", 1_MiB).value()};
    system.fail_nth(2, FaultKind::kWriteErrorBefore, stickiness);
    std::string text;
    for (int i = 0; i < 6; ++i) {
      text += devices[i % 2]->write(0, data).ok() ? '.' : 'w';
      text += devices[i % 2]->flush().ok() ? '.' : 'f';
    }
    return text;
  };
  REQUIRE(pattern_of(Stickiness::kOnce) == "....w.......");
  REQUIRE(pattern_of(Stickiness::kSticky) == "....w.w.w.w.");
  REQUIRE(pattern_of(Stickiness::kDevice) == "....wf..wf..");
}

TEST_CASE("sim_system: opening follows the rules of files") {
  SimSystem system;
  REQUIRE(system.open_device("a", OpenMode::kReadOnly).error().code == ErrorCode::kNotFound);
  REQUIRE(system.create_device("a", 100).error().code == ErrorCode::kInvalidArgument);
  auto writer = system.create_device("a", 1_MiB).value();
  REQUIRE(system.open_device("a", OpenMode::kReadOnly).error().code == ErrorCode::kBusy);
  REQUIRE(system.open_device("a", OpenMode::kLook).ok());
  writer.reset();
  auto reader = system.open_device("a", OpenMode::kReadOnly).value();
  REQUIRE(system.open_device("a", OpenMode::kReadOnly).ok());
  REQUIRE(system.create_device("a", 1_MiB).error().code == ErrorCode::kBusy);
  REQUIRE(reader->grow(2_MiB).error().code == ErrorCode::kReadOnly);
  reader.reset();
  REQUIRE(system.create_device("a", 2_MiB).value()->geometry().size == 2_MiB);
  REQUIRE(system.draw_seed() != system.draw_seed());
}

TEST_CASE("sim_system: opening a disk may be refused, for one way of opening it") {
  SimSystem system;
  REQUIRE(system.create_device("a", 1_MiB).ok());
  system.disk("a").refuse_opening(OpenMode::kReadWrite, EROFS);
  REQUIRE(system.open_device("a", OpenMode::kReadWrite).error().code == ErrorCode::kReadOnly);
  REQUIRE(system.open_device("a", OpenMode::kReadOnly).ok());
  system.disk("a").refuse_opening(OpenMode::kReadWrite, 0);
  REQUIRE(system.open_device("a", OpenMode::kReadWrite).ok());
}

TEST_CASE("sim_system: a disk has no room beyond its capacity") {
  SimOptions options;
  options.disk.capacity = 2_MiB;
  SimSystem system(options);
  REQUIRE(system.create_device("a", 3_MiB).error().code == ErrorCode::kNoSpace);
  const auto device = system.create_device("a", 1_MiB).value();
  REQUIRE(device->grow(3_MiB).error().code == ErrorCode::kNoSpace);
  REQUIRE(device->grow(2_MiB).ok());
}
