// A file system of the fast tier that has no room left: the index cannot grow or be made, and the
// store goes on with the runs until there is room again. The log is preallocated.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <thread>

#include "tests/core/faults/plain_content.h"
#include "tests/core/store_fixture.h"
#include "tests/io/mount.h"
#include "tests/io/temporary.h"

namespace hexad::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kAttributes = 50'000;  // bytes of an object's attributes
constexpr int kMany = 120;                   // objects whose attributes no index of 4 MiB holds

class World {
 public:
  // Has an index, and a run or two. Precondition: mounted().
  void make(std::unique_ptr<io::System> system) {
    system_ = std::move(system);
    FormatOptions options = small_format();
    options.device_size = 16_MiB;
    for (int i = 0; i < 6; ++i) {
      options.devices.push_back(temporary_.path("dev" + std::to_string(i)));
    }
    options.fast_directories = {mount_.path("fast")};
    Result<PoolDescription> made = Store::format(options, system_.get());
    if (!made.ok()) FAIL(made.error().to_string());
    pool_ = *made;
    Store store = open();
    for (int i = 0; i < 40; ++i) content.put(store, i);
    REQUIRE(message_of(store.checkpoint()) == "");
    REQUIRE(store.space()->metadata > 0);
    REQUIRE(message_of(store.close()) == "");
  }
  bool mounted() const { return mount_.mounted(); }
  Store open(Access access = Access::kReadWrite) {
    RuntimeOptions options;
    options.access = access;
    Result<Store> store = Store::open(pool_, options, system_.get());
    if (!store.ok()) FAIL(store.error().to_string());
    return std::move(store).value();
  }
  // To the last byte.
  void fill_file_system() {
    const std::string page(4096, 'x');
    std::ofstream file(mount_.path("filler"), std::ios::binary);
    while (file.write(page.data(), static_cast<std::streamsize>(page.size())).flush()) {
    }
    REQUIRE(fs::space(mount_.path("")).available == 0);
  }
  void make_room() { fs::remove(mount_.path("filler")); }
  fs::path index() const { return mount_.path("fast/index"); }

  void require_exact(Store& store) {
    CAPTURE(store.status().notes);
    REQUIRE(content.difference(store) == "");
    REQUIRE(deep_findings(store) == "");
  }
  // The index is asked for again after every checkpoint that has something to write.
  template <typename Done>
  void checkpoint_until(Store& store, const Done& done) {
    while (!done()) {
      content.put(store, 0);
      REQUIRE(message_of(store.checkpoint()) == "");
      for (int i = 0; i < 1000 && !done(); ++i) std::this_thread::yield();
    }
  }
  void wait_for_failure(Store& store) {
    checkpoint_until(store,
                     [&] { return says(store, "making a new index on the fast tier failed"); });
  }
  // There is room again.
  void require_index_comes_back(Store& store) {
    checkpoint_until(store, [&] { return counter(store, "indexes_rebuilt") > 0; });
    while (says(store, "making a new index")) std::this_thread::yield();
    content.put(store, 1);
    REQUIRE(message_of(store.checkpoint()) == "");
    require_exact(store);
    REQUIRE(store.space()->metadata > 0);
  }
  void require_sound() {
    Store store = open();
    require_exact(store);
    REQUIRE_FALSE(says(store, "index"));
    REQUIRE(store.space()->metadata > 0);
  }

  PlainContent content;

 private:
  io::testing::TemporaryDirectory temporary_;
  io::testing::Mount mount_{temporary_, "tmpfs", "size=24m"};
  std::unique_ptr<io::System> system_;
  PoolDescription pool_;
};

void run(World& world) {
  {
    Store store = world.open();
    world.fill_file_system();
    for (int i = 0; i < kMany; ++i) world.content.put_with_attributes(store, 100 + i, kAttributes);
    REQUIRE(message_of(store.checkpoint()) == "");
    // It has not grown, so the runs answer, and a new one does not fit either.
    REQUIRE(store.space()->metadata == 0);
    world.wait_for_failure(store);
    world.require_exact(store);
    REQUIRE_FALSE(store.status().read_only);
    REQUIRE(message_of(store.close()) == "");
  }
  for (const Access access : {Access::kReadOnly, Access::kReadWrite, Access::kReadWrite}) {
    Store store = world.open(access);
    REQUIRE(says(store, "the index on the fast tier"));
    REQUIRE(store.space()->metadata == 0);
    if (access == Access::kReadWrite) {
      for (int i = 0; i < 10; ++i) world.content.put(store, 300 + i);
      world.content.remove(store, 305);
      world.wait_for_failure(store);
    }
    world.require_exact(store);
  }
  {
    Store store = world.open();
    world.make_room();
    world.require_index_comes_back(store);
    REQUIRE(message_of(store.close()) == "");
  }
  world.require_sound();
}

TEST_CASE("full fast tier: the store goes on without the index, and has it when there is room") {
  World world;
  if (!world.mounted()) return;
  SECTION("the log in memory") { world.make(std::make_unique<io::MemorySystem>()); }
  SECTION("the log on that file system, too") {
    Result<std::unique_ptr<io::System>> real = io::make_real_system();
    REQUIRE(message_of(real.status()) == "");
    world.make(std::move(real).value());
  }
  run(world);
}

TEST_CASE("full fast tier: an index that fits stays in use, and takes what has room in it") {
  World world;
  if (!world.mounted()) return;
  world.make(std::make_unique<io::MemorySystem>());
  world.fill_file_system();
  for (int round = 0; round < 3; ++round) {
    CAPTURE(round);
    Store store = world.open();
    REQUIRE_FALSE(says(store, "index"));
    for (int i = 0; i < 10; ++i) world.content.put(store, 100 * round + i);
    REQUIRE(message_of(store.checkpoint()) == "");
    REQUIRE(store.space()->metadata > 0);
    world.require_exact(store);
    if (round != 1) REQUIRE(message_of(store.close()) == "");
  }
  world.require_sound();
}

// LMDB maps its lock file and writes to it, which kills a process where no page can be allocated.
TEST_CASE("full fast tier: not a byte is left for a new index, and nothing dies of it") {
  World world;
  if (!world.mounted()) return;
  world.make(std::make_unique<io::MemorySystem>());
  fs::remove_all(world.index());
  world.fill_file_system();
  {
    Store store = world.open();
    REQUIRE(says(store, "the index on the fast tier is missing"));
    world.content.put(store, 100);
    world.wait_for_failure(store);
    world.require_exact(store);
    world.make_room();
    world.require_index_comes_back(store);
    REQUIRE(message_of(store.close()) == "");
  }
  world.require_sound();
}

}  // namespace
}  // namespace hexad::testing
