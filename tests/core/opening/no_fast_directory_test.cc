// A store without a fast directory: the log is on data devices alone, the runs answer for the
// metadata, and nothing waits for an index. It may be given a directory for one later.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include "tests/core/noise.h"
#include "tests/core/store_fixture.h"
#include "tests/io/temporary.h"

namespace hexad::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kDevices = 6;
constexpr int kParity = 2;

class World {
 public:
  World() {
    FormatOptions format = small_format();
    for (int i = 0; i < kDevices; ++i) {
      format.devices.push_back(directory.path("dev" + std::to_string(i)));
    }
    const Result<PoolDescription> made = Store::format(format);
    REQUIRE(message_of(made.status()) == "");
    pool = *made;
  }

  // One that has a directory where `given`.
  Store open(bool given = false, Access access = Access::kReadWrite) {
    PoolDescription described = pool;
    if (given) described.fast_directories = {fast()};
    RuntimeOptions options;
    options.access = access;
    Result<Store> store = Store::open(described, options);
    REQUIRE(message_of(store.status()) == "");
    return std::move(*store);
  }
  std::string fast() const { return directory.path("given/later"); }

  // Some in runs, more than one, some in the log.
  void write(Store& store, int from, int count) {
    for (int i = from; i < from + count; ++i) {
      const std::string name = std::to_string(i);
      values[name] = noise(100 + 700 * (i % 40), i);
      REQUIRE(message_of(put(store, name, values[name]).status()) == "");
      if (i % 20 == 19) REQUIRE(message_of(store.checkpoint()) == "");
    }
  }
  std::string difference(Store& store) const {
    const Result<ListPage> page = store.list(kBucket);
    if (!page.ok()) return page.error().to_string();
    if (page->entries.size() != values.size()) return std::to_string(page->entries.size());
    for (const auto& [name, value] : values) {
      if (get(store, name) != value) return name;
    }
    return deep_findings(store);
  }

  io::testing::TemporaryDirectory directory;
  PoolDescription pool;
  std::map<std::string, std::string> values;
};

bool says(const StoreStatus& status, const std::string& text) {
  return std::any_of(status.notes.begin(), status.notes.end(),
                     [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

// As it should be: nothing of an index.
std::string problem_of(const StoreStatus& status) {
  if (status.health != Health::kOk) return "health";
  if (status.devices.size() != kDevices) return std::to_string(status.devices.size()) + " devices";
  for (const DeviceStatus& device : status.devices) {
    if (device.state != "ok" || !device.detail.empty()) return device.path + " " + device.state;
  }
  if (!says(status, "no fast directory")) return "the notes";
  if (!status.warnings.empty()) return status.warnings.front();
  for (const JobStatus& job : status.jobs) {
    if (job.name != "index") continue;
    if (job.running || job.steps > 0 || !job.problem.empty()) return "the job " + job.problem;
  }
  return "";
}

TEST_CASE("no fast directory: a store lives from its runs, healthy, and nothing makes an index") {
  World world;
  REQUIRE(world.pool.fast_directories.empty());
  for (int life = 0; life < 3; ++life) {
    CAPTURE(life);
    Store store = world.open();
    CHECK(problem_of(store.status()) == "");
    world.write(store, 70 * life, 70);
    CHECK(world.difference(store) == "");
    CHECK(store.space()->metadata == 0);
    CHECK(problem_of(store.status()) == "");
    CHECK(counter(store, "indexes_rebuilt") == 0);
    CHECK(counter(store, "index_bytes") == 0);
    if (life == 1) continue;  // the next opening replays the log
    REQUIRE(message_of(store.close()) == "");
  }
  Store store = world.open(false, Access::kReadOnly);
  CHECK(problem_of(store.status()) == "");
  CHECK(world.difference(store) == "");
  // Nothing was made beside the devices.
  for (const fs::directory_entry& entry : fs::directory_iterator(world.directory.path(""))) {
    CHECK(entry.path().filename().string().starts_with("dev"));
  }
}

TEST_CASE("no fast directory: any two devices may be lost, right after a checkpoint or a commit") {
  World world;
  {
    Store store = world.open();
    world.write(store, 0, 50);  // and let go of without a close
  }
  for (const auto& [a, b] : pairs_below(kDevices)) {
    CAPTURE(a, b);
    for (const std::size_t lost : {a, b}) {
      fs::rename(world.pool.devices[lost], world.pool.devices[lost] + ".away");
    }
    {
      Store store = world.open(false, Access::kReadOnly);
      CHECK(world.difference(store) == "");
      CHECK(store.status().faults_tolerated == kParity - 2);
      CHECK(says(store.status(), "no fast directory"));
    }
    for (const std::size_t lost : {a, b}) {
      fs::rename(world.pool.devices[lost] + ".away", world.pool.devices[lost]);
    }
  }
}

TEST_CASE("no fast directory: one that is given later gets the index, and may go again") {
  World world;
  {
    Store store = world.open();
    world.write(store, 0, 70);
    REQUIRE(message_of(store.close()) == "");
  }
  fs::create_directories(world.fast());
  // A reader makes nothing, and has everything.
  {
    Store store = world.open(true, Access::kReadOnly);
    CHECK(world.difference(store) == "");
    CHECK(fs::is_empty(world.fast()));
  }
  {
    Store store = world.open(true);
    while (counter(store, "indexes_rebuilt") == 0) std::this_thread::yield();
    world.write(store, 70, 30);
    CHECK(world.difference(store) == "");
    CHECK(store.space()->metadata > 0);
    REQUIRE(message_of(store.close()) == "");
  }
  // The index, and no log: what is durable is so on the data devices.
  CHECK(fs::exists(world.fast() + "/index/data.mdb"));
  CHECK_FALSE(fs::exists(world.fast() + "/log"));
  {
    Store store = world.open(true);
    const StoreStatus status = store.status();
    CHECK(status.health == Health::kOk);
    CHECK(status.devices.size() == kDevices);
    CHECK_FALSE(says(status, "index"));
    CHECK_FALSE(says(status, "fast directory"));
    CHECK(counter(store, "indexes_rebuilt") == 0);
    CHECK(store.space()->metadata > 0);
    CHECK(world.difference(store) == "");
    REQUIRE(message_of(store.close()) == "");
  }
  {
    Store store = world.open();
    CHECK(problem_of(store.status()) == "");
    world.write(store, 100, 30);
    CHECK(world.difference(store) == "");
    REQUIRE(message_of(store.close()) == "");
  }
  // What the index there has missed it gets from the runs.
  Store store = world.open(true);
  CHECK(world.difference(store) == "");
  while (store.space()->metadata == 0) std::this_thread::yield();
  CHECK(world.difference(store) == "");
  REQUIRE(message_of(store.close()) == "");
}

// That costs the index alone. What is not there may be a medium that is not mounted: no directory
// is made in its place.
TEST_CASE("no fast directory: one that is named and is not there costs nothing") {
  World world;
  {
    Store store = world.open(true);
    world.write(store, 0, 30);
    CHECK(world.difference(store) == "");
    CHECK(store.status().health == Health::kOk);
    CHECK(store.status().devices.size() == kDevices);
    REQUIRE(message_of(store.close()) == "");
  }
  CHECK_FALSE(fs::exists(world.fast()));
  Store store = world.open();
  CHECK(problem_of(store.status()) == "");
  CHECK(world.difference(store) == "");
}

}  // namespace
}  // namespace hexad::testing
