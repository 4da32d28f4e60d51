// Data devices of 512-byte blocks beside a fast device of 4 KiB ones: units that are no multiple of
// the latter's.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "alloc/device_layout.h"
#include "base/units.h"
#include "core/store.h"
#include "io/sim/sim_system.h"
#include "tests/core/store_fixture.h"
#include "tests/io/os/loop_device.h"
#include "tests/io/temporary.h"

namespace hexad::testing {
namespace {

struct World {
  explicit World(std::uint32_t data_block, std::uint32_t fast_block) {
    for (int i = 0; i < 6; ++i) {
      format.devices.push_back("dev" + std::to_string(i));
      add(format.devices.back(), 12_MiB, data_block);
    }
    format.fast_directories = {directory.path("fast")};
    log = format.fast_directories[0] + "/log";
    add(log, 3_MiB, fast_block);
    format.log_size = 1_MiB + 1_KiB;  // a multiple of none
  }
  void add(const std::string& name, std::uint64_t room, std::uint32_t block) {
    io::SimDiskOptions options;
    options.logical_block = options.physical_block = block;
    system.add_disk(name, std::make_shared<io::CowImage>(room + alloc::kEndsSize), options);
  }
  Result<PoolDescription> make() {
    std::optional<Result<PoolDescription>> made;
    system.run([&] { made = Store::format(format, &system); });
    return *std::move(made);
  }
  template <typename Use>
  std::string use(const PoolDescription& pool, const Use& use) {
    std::string said;
    system.run([&] {
      Result<Store> store = Store::open(pool, {}, &system);
      said = store.ok() ? use(*store) : store.error().to_string();
    });
    return said;
  }

  io::SimSystem system;
  io::testing::TemporaryDirectory directory{io::testing::TemporaryDirectory::On::kMemory};
  FormatOptions format;
  std::string log;
};

std::map<std::string, std::string> objects() {
  std::map<std::string, std::string> made;
  for (const std::size_t size :
       {1, 511, 2'000, 2'049, 10'000, 65'536, 73'729, 300'000, 1'500'000}) {
    made["o" + std::to_string(size)] = noise(size, size);
  }
  return made;
}

std::string compare(Store& store) {
  for (const auto& [name, bytes] : objects()) {
    if (get(store, name) != bytes) return name + " differs";
  }
  return deep_findings(store);
}

TEST_CASE("small blocks: units that the fast device's blocks are no part of") {
  const std::uint64_t min_alloc = GENERATE(512, 1024, 4096, 6144, 18432, 65536);
  CAPTURE(min_alloc);
  World world(512, 4096);
  world.format.min_alloc = min_alloc;
  Result<PoolDescription> pool = world.make();
  REQUIRE((pool.ok() ? "" : pool.error().to_string()) == "");
  std::uint64_t allocated = 0;  // for 1 MiB: cells of 256 KiB
  const std::string written = world.use(*pool, [&](Store& store) -> std::string {
    if (!put(store, "first", noise(1_MiB, 3)).ok()) return "first";
    const auto space = store.space();
    if (!space.ok()) return space.error().to_string();
    allocated = space->allocated;
    for (const auto& [name, bytes] : objects()) {
      // Twice, and in pieces, so that something is freed and used again.
      if (!put(store, name, std::string(bytes.size() / 2, 'x')).ok()) return name;
      if (!put(store, name, bytes).ok()) return name + " again";
      if (!store.checkpoint().ok()) return "checkpoint";
    }
    for (int i = 0; i < 200; ++i) {
      if (!put(store, "late" + std::to_string(i % 7), noise(3'000, 5)).ok()) return "late";
    }
    return compare(store);
  });
  REQUIRE(written == "");
  CHECK(allocated == 4 * round_up(256_KiB, min_alloc));
  // Without the fast tier, which was the one with the larger blocks: the log's are as they were.
  PoolDescription rest = *pool;
  rest.fast_directories = {world.directory.path("elsewhere")};
  CHECK(world.use(rest, compare) == "");
  CHECK(world.use(rest, [&](Store& store) -> std::string {
    for (int i = 0; i < 200; ++i) {
      if (!put(store, "later" + std::to_string(i % 7), noise(3'000, 5)).ok()) return "later";
    }
    return compare(store);
  }) == "");
}

TEST_CASE("small blocks: data devices of 4 KiB say which units they can have") {
  World world(4096, 512);
  for (const auto& [min_alloc, hint] : std::map<std::uint64_t, std::string>{
           {512, "The nearest legal value is 4 KiB (4096 B)."},
           {18432, "The nearest legal values are 16 KiB (16384 B) and 20 KiB (20480 B)."}}) {
    world.format.min_alloc = min_alloc;
    const Result<PoolDescription> pool = world.make();
    REQUIRE(code_of(pool) == ErrorCode::kInvalidArgument);
    CHECK(pool.error().message.find("is not a multiple of the physical block of 4 KiB") !=
          std::string::npos);
    CHECK(pool.error().hint == hint);
  }
  // The blocks of the log are those of the data devices, then.
  world.format.min_alloc = 20480;
  Result<PoolDescription> pool = world.make();
  REQUIRE((pool.ok() ? "" : pool.error().to_string()) == "");
  CHECK(world.use(*pool, [](Store& store) -> std::string {
    for (const auto& [name, bytes] : objects()) {
      if (!put(store, name, bytes).ok()) return name;
    }
    return compare(store);
  }) == "");
}

TEST_CASE("small blocks: the unit that nobody chose is no smaller than a physical block") {
  World world(8192, 512);
  world.format.min_alloc = 0;
  FormatReport report;
  std::string said;
  world.system.run(
      [&] { said = message_of(Store::format(world.format, &world.system, &report).status()); });
  CHECK(said == "");
  CHECK(report.min_alloc == 8_KiB);
}

TEST_CASE("small blocks: on block devices of 512 and of 4096 bytes to a sector") {
  const int sector = GENERATE(512, 4096);
  std::vector<std::unique_ptr<io::testing::LoopDevice>> loops;
  FormatOptions format;
  for (int i = 0; i < 6; ++i) {
    loops.push_back(std::make_unique<io::testing::LoopDevice>(12_MiB, sector));
    if (!loops.back()->usable()) {
      WARN("not run: no loop devices here");
      return;
    }
    format.devices.push_back(loops.back()->path());
  }
  const io::testing::TemporaryDirectory directory;  // of a file system with blocks of 4 KiB
  format.fast_directories = {directory.path("fast")};
  format.log_size = 1_MiB;
  for (const std::uint64_t min_alloc : {512, 18432}) {
    CAPTURE(sector, min_alloc);
    format.min_alloc = min_alloc;
    format.force = true;
    const Result<PoolDescription> pool = Store::format(format);
    if (sector > 512) {
      CHECK(code_of(pool) == ErrorCode::kInvalidArgument);
      continue;
    }
    REQUIRE((pool.ok() ? "" : pool.error().to_string()) == "");
    for (int opening = 0; opening < 2; ++opening) {
      Store store = Store::open(*pool).value();
      if (opening == 0) {
        for (const auto& [name, bytes] : objects()) REQUIRE(put(store, name, bytes).ok());
      }
      CHECK(compare(store) == "");
      REQUIRE(store.close().ok());
    }
  }
}

}  // namespace
}  // namespace hexad::testing
