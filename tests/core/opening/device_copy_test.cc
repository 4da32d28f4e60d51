#include "core/opening/device_copy.h"

#include <algorithm>

#include "io/rng.h"
#include "io/sim/sim_system.h"
#include "tests/core/space_fixture.h"

namespace hexad::core {
namespace {

using testing::kUnit;
using testing::SpaceFixture;

constexpr DeviceId kDevice = 1;

// Two zones with units that live, and beside the member of that number the device that it replaces,
// whose bytes are noise.
struct World {
  World() {
    layout = f.table.rows[kDevice].layout;
    to = f.table.devices[kDevice];
    f.make();
    for (int i = 0; i < 2; ++i) f.add_zone();
    for (const alloc::ZoneId zone : f.space->zone_ids()) {
      for (const alloc::UnitRun run : {alloc::UnitRun{1, 3}, {7, 1}, {20, 12}}) {
        live.push_back({zone, run.unit, run.units});
        REQUIRE(f.space->mark_used(live.back()).ok());
      }
    }
    auto device =
        std::make_unique<hexad::testing::TableDevice>("old", layout.device_size, f.table.queue);
    from = device.get();
    io::Rng rng(1);
    for (std::byte& byte : from->bytes) byte = static_cast<std::byte>(1 + rng.below(255));
    // Of an attempt before, say.
    std::fill(to->bytes.begin(), to->bytes.end(), std::byte{77});
    replaced.device = std::move(device);
    replaced.layout = layout;
    replacement.device = kDevice;
  }

  Result<DeviceCopy> copy(io::Executor& executor) {
    return copy_device(*f.space, replaced, *f.members->find(kDevice), replacement, executor);
  }
  Result<DeviceCopy> copy() { return copy(*f.executor); }

  // Where a unit of the zone lies on the device.
  std::uint64_t offset_of(alloc::ZoneId zone, std::uint32_t unit) {
    for (const alloc::ZoneSlot& slot : f.space->slots(zone)) {
      if (slot.device == kDevice) return layout.unit_offset(slot.slab, unit);
    }
    FAIL("the zone has no slab on the device");
    return 0;
  }
  // Every unit of the device: what it should hold now.
  void require_copied(const std::vector<alloc::Extent>& unread = {}) {
    std::vector<std::byte> expected(to->bytes.size(), std::byte{77});
    const auto each = [&](const std::vector<alloc::Extent>& extents, const auto& set) {
      for (const alloc::Extent& extent : extents) {
        for (std::uint32_t i = 0; i < extent.units; ++i)
          set(offset_of(extent.zone, extent.unit + i));
      }
    };
    each(live, [&](std::uint64_t at) {
      std::copy_n(from->bytes.begin() + static_cast<std::ptrdiff_t>(at), kUnit,
                  expected.begin() + static_cast<std::ptrdiff_t>(at));
    });
    each(unread, [&](std::uint64_t at) {
      std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(at), kUnit, std::byte{0});
    });
    REQUIRE(std::equal(expected.begin(), expected.end(), to->bytes.begin(), to->bytes.end()));
  }
  std::uint64_t live_bytes() const {
    std::uint64_t units = 0;
    for (const alloc::Extent& extent : live) units += extent.units;
    return units * kUnit;
  }

  SpaceFixture f;
  alloc::DeviceLayout layout;
  hexad::testing::TableDevice* to = nullptr;
  hexad::testing::TableDevice* from = nullptr;
  std::vector<alloc::Extent> live;
  ReplacedDevice replaced;
  Replacement replacement;
};

TEST_CASE("device_copy: what lives is copied to its place, and nothing else is touched") {
  World world;
  std::uint64_t told = 0;
  world.replacement.progress = [&](std::uint64_t done, std::uint64_t total) {
    REQUIRE(done > told);
    REQUIRE(total == world.live_bytes());
    told = done;
    return true;
  };
  world.to->asked.clear();
  const Result<DeviceCopy> copy = world.copy();
  REQUIRE(testing::message(copy.status()) == "");
  REQUIRE(copy->bytes == world.live_bytes());
  REQUIRE(copy->unread.empty());
  REQUIRE(told == world.live_bytes());
  world.require_copied();
  // Durable behind the last write, and the old one was only read.
  REQUIRE(world.to->asked.back().op == io::IoOp::kFlush);
  REQUIRE(world.from->count(io::IoOp::kRead) == world.from->asked.size());
  // In the order of their places.
  REQUIRE(std::is_sorted(world.from->asked.begin(), world.from->asked.end(),
                         [](const auto& a, const auto& b) { return a.offset < b.offset; }));
}

TEST_CASE("device_copy: any one unit that cannot be read is zeros, and said") {
  World pattern;
  for (const alloc::Extent& extent : pattern.live) {
    for (std::uint32_t i = 0; i < extent.units; ++i) {
      const alloc::Extent bad{extent.zone, extent.unit + i, 1};
      CAPTURE(alloc::to_string(bad));
      World world;
      const std::uint64_t at = world.offset_of(bad.zone, bad.unit);
      world.from->fails = [at](const io::IoRequest& request) {
        return request.offset <= at && at < request.offset + request.length;
      };
      const Result<DeviceCopy> copy = world.copy();
      REQUIRE(copy.ok());
      REQUIRE(copy->unread == std::vector<alloc::Extent>{bad});
      REQUIRE(copy->bytes == world.live_bytes() - kUnit);
      world.require_copied(copy->unread);
    }
  }
}

TEST_CASE(
    "device_copy: one that gives nothing any more is all zeros, in as few pieces as there are") {
  World world;
  world.from->fail(io::IoOp::kRead);
  const Result<DeviceCopy> copy = world.copy();
  REQUIRE(copy.ok());
  REQUIRE(copy->bytes == 0);
  std::vector<alloc::Extent> unread = copy->unread;
  std::sort(unread.begin(), unread.end());
  REQUIRE(unread == world.live);
  world.require_copied(unread);
}

TEST_CASE("device_copy: where the new one fails there is no copy") {
  for (const io::IoOp op : {io::IoOp::kWrite, io::IoOp::kFlush}) {
    World world;
    world.to->fail(op);
    const Result<DeviceCopy> copy = world.copy();
    REQUIRE_FALSE(copy.ok());
    REQUIRE(copy.error().code == ErrorCode::kIo);
  }
}

TEST_CASE("device_copy: it ends when nobody wants more, and says how far it was") {
  World world;
  world.replacement.path = "new";
  int more = 2;
  world.replacement.progress = [&](std::uint64_t, std::uint64_t) { return --more > 0; };
  const Result<DeviceCopy> copy = world.copy();
  REQUIRE_FALSE(copy.ok());
  REQUIRE(copy.error().code == ErrorCode::kClosed);
  REQUIRE(copy.error().message.find("the pool has not changed") != std::string::npos);
  REQUIRE(world.from->asked.size() == 2);
}

TEST_CASE("device_copy: it reads no faster than it may") {
  World world;
  io::SimSystem system;
  world.replacement.rate = world.live_bytes() / 4;
  std::optional<Error> error;
  io::Nanos took = 0;
  system.run([&] {
    const io::Nanos began = system.clock().now();
    const Result<DeviceCopy> copy = world.copy(system.executor());
    if (!copy.ok()) error = copy.error();
    took = system.clock().now() - began;
  });
  REQUIRE_FALSE(error.has_value());
  REQUIRE(took >= 4'000'000'000);
  REQUIRE(took < 4'200'000'000);
  world.require_copied();
}

}  // namespace
}  // namespace hexad::core
