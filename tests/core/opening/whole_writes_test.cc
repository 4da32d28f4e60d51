// Devices that are erasure-coded below: they read before they write less than a stripe, and keep
// pieces of some MiB as one.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "alloc/device_layout.h"
#include "alloc/label.h"
#include "base/units.h"
#include "core/store.h"
#include "io/sim/sim_system.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

struct Stripes {
  std::uint32_t whole_write = 0;
  std::uint64_t piece = 0;
};

struct World {
  explicit World(std::vector<Stripes> devices, std::uint64_t size = 96_MiB) {
    for (const Stripes& stripes : devices) {
      format.devices.push_back("dev" + std::to_string(format.devices.size()));
      io::SimDiskOptions options;
      options.whole_write = stripes.whole_write;
      options.piece = stripes.piece;
      system.add_disk(format.devices.back(), std::make_shared<io::CowImage>(size), options);
    }
    format.profile = {static_cast<std::uint8_t>(devices.size()), 0, ec::CodecKind::kIsaVandermonde,
                      0};
    format.redundant_devices = true;
    format.log_size = 2_MiB;
  }
  std::string make() {
    std::string said;
    system.run([&] {
      const Result<PoolDescription> made = Store::format(format, &system, &report);
      said = message_of(made.status());
      if (!made.ok()) return;
      pool = *made;
      const auto device = system.open_device("dev0", io::OpenMode::kReadOnly).value();
      layout = alloc::read_label(*device).value().label.layout;
    });
    return said;
  }

  io::SimSystem system;
  FormatOptions format;
  FormatReport report;
  PoolDescription pool;
  alloc::DeviceLayout layout;  // of the first device
};

std::string use(Store& store) {
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t size : {1, 700, 4'096, 9'000, 65'536, 300'000, 1'500'000, 3'000'000}) {
      const std::string name = std::to_string(size);
      if (!put(store, name, noise(size, size + static_cast<std::size_t>(round))).ok()) return name;
      Transaction t;
      t.write(kBucket, name, size / 3, as_bytes(noise(size / 3 + 1, 7)));
      if (!store.commit(std::move(t)).ok()) return name + " in part";
    }
    if (!store.checkpoint().ok()) return "checkpoint";
  }
  return deep_findings(store);
}

TEST_CASE("whole writes: every write to such a device is of whole stripes, at their beginning") {
  for (const std::uint32_t whole : {8u << 10, 16u << 10}) {
    CAPTURE(whole);
    World world(std::vector<Stripes>(4, {whole, 1_MiB}), 512_MiB);
    REQUIRE(world.make() == "");
    CHECK(world.report.min_alloc == whole);
    CHECK(world.layout.unit == whole);
    CHECK(world.layout.physical_block == whole);
    CHECK(world.layout.block_of_log() == whole);
    CHECK(is_multiple(world.layout.log_offset, 1_MiB));
    CHECK(is_multiple(world.layout.first_slab, 1_MiB));
    CHECK(is_multiple(world.layout.slab_size(), 1_MiB));
    std::uint64_t writes = 0;
    std::vector<std::string> partial;  // but for roots and headers of slabs, which are rare
    world.system.set_hook([&](const io::SimOp& op) -> std::optional<io::FaultKind> {
      if (op.op != io::IoOp::kWrite || op.cause == io::IoCause::kSuper) return std::nullopt;
      ++writes;
      if (is_multiple(op.offset, whole) && is_multiple(op.length, whole)) return std::nullopt;
      partial.push_back(op.disk + ": " + std::to_string(op.length) + " bytes at " +
                        std::to_string(op.offset) + " for " + to_string(op.cause));
      return std::nullopt;
    });
    std::string said;
    world.system.run([&] {
      Result<Store> store = Store::open(world.pool, {}, &world.system);
      said = store.ok() ? use(*store) : store.error().to_string();
      if (store.ok() && said.empty()) said = message_of(store->close());
    });
    world.system.set_hook(nullptr);
    CHECK(said == "");
    CHECK(writes > 100);
    CHECK(partial == std::vector<std::string>());
  }
}

TEST_CASE("whole writes: what was chosen counts more, and what no unit can be does not count") {
  const auto unit_of = [](World& world) {
    REQUIRE(world.make() == "");
    CHECK(world.report.min_alloc == world.layout.unit);
    return world.layout.unit;
  };
  const std::vector<Stripes> eight(2, {8 << 10, 0});
  {
    World world(eight);
    world.format.min_alloc = 4_KiB;
    CHECK(unit_of(world) == 4_KiB);
  }
  {
    World world(eight);
    world.format.checksum_block = 4_KiB;
    CHECK(unit_of(world) == 8_KiB);
    CHECK(world.layout.physical_block == 4_KiB);
  }
  {
    World world(eight);
    world.format.slab_size = 4_KiB * 300;  // is made of whole units
    CHECK(unit_of(world) == 8_KiB);
  }
  {
    World world(eight);
    world.format.slab_size = 4_KiB * 301;
    CHECK(unit_of(world) == 4_KiB);
  }
  {
    World world({{8 << 10, 0}, {12 << 10, 0}, {0, 0}});
    CHECK(unit_of(world) == 24_KiB);
  }
  {
    World world(std::vector<Stripes>(2, {20 << 10, 0}));
    CHECK(unit_of(world) == 20_KiB);
    CHECK(world.layout.physical_block == 4_KiB);  // a power of two
  }
  {
    World world(std::vector<Stripes>(2, {128 << 10, 0}));
    CHECK(unit_of(world) == 4_KiB);
  }
  {
    World world(std::vector<Stripes>(2, {0, 4_MiB}));  // of too few pieces
    CHECK(unit_of(world) == 4_KiB);
    CHECK_FALSE(is_multiple(world.layout.log_offset, 4_MiB));
  }
}

// What is moved from disks to a cluster keeps its units, and its slabs have to have room.
TEST_CASE("whole writes: a device of stripes takes the place of one without, as large as it is") {
  World world(std::vector<Stripes>(2));
  world.format.profile = {1, 1, ec::CodecKind::kIsaVandermonde, 0};
  REQUIRE(world.make() == "");
  io::SimDiskOptions options;
  options.whole_write = 8 << 10;
  options.piece = 1_MiB;
  world.system.add_disk("new", std::make_shared<io::CowImage>(96_MiB), options);
  std::string said;
  alloc::DeviceLayout layout;
  world.system.run([&] {
    {
      Result<Store> store = Store::open(world.pool, {}, &world.system);
      said = message_of(store.status());
      if (!store.ok()) return;
      said = use(*store);
      if (said.empty()) said = message_of(store->replace_device({1, "new"}).status());
      if (said.empty()) said = deep_findings(*store);
      if (said.empty()) said = message_of(store->close());
    }
    if (!said.empty()) return;
    const auto device = world.system.open_device("new", io::OpenMode::kReadOnly).value();
    layout = alloc::read_label(*device).value().label.layout;
  });
  CHECK(said == "");
  CHECK(layout.unit == 4_KiB);
  CHECK(layout.slab_count == world.layout.slab_count);
}

TEST_CASE("whole writes: one that takes the place of its like, or is added, is laid out like it") {
  const std::vector<Stripes> like(2, {8 << 10, 1_MiB});
  World world(like, 509_MiB);
  world.format.profile = {1, 1, ec::CodecKind::kIsaVandermonde, 0};
  REQUIRE(world.make() == "");
  REQUIRE(is_multiple(world.layout.first_slab, 1_MiB));
  io::SimDiskOptions options;
  options.whole_write = like[0].whole_write;
  options.piece = like[0].piece;
  for (const char* name : {"new", "more"}) {
    world.system.add_disk(name, std::make_shared<io::CowImage>(509_MiB), options);
  }
  std::string said;
  std::vector<alloc::DeviceLayout> layouts;
  world.system.run([&] {
    {
      Result<Store> store = Store::open(world.pool, {}, &world.system);
      said = message_of(store.status());
      if (said.empty()) said = message_of(store->replace_device({1, "new"}).status());
      if (said.empty()) said = message_of(store->add_device("more").status());
      if (said.empty()) said = message_of(store->close());
    }
    if (!said.empty()) return;
    for (const char* name : {"new", "more"}) {
      const auto device = world.system.open_device(name, io::OpenMode::kReadOnly).value();
      layouts.push_back(alloc::read_label(*device).value().label.layout);
    }
  });
  CHECK(said == "");
  for (const alloc::DeviceLayout& layout : layouts) CHECK(layout == world.layout);
}

}  // namespace
}  // namespace hexad::testing
