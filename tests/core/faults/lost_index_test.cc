// The index on the fast tier is a copy: whatever becomes of it, the store opens, has everything
// that it had, says what it found, and makes a new one.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "io/rng.h"
#include "tests/core/store_fixture.h"
#include "tests/io/file_bytes.h"

namespace hexad::testing {
namespace {

namespace fs = std::filesystem;

class World {
 public:
  // Some of what it holds is in runs, and more than one, some in the log.
  explicit World(int objects = 60) {
    Store store = fixture.open();
    for (int i = 0; i < objects; ++i) {
      write(store, i);
      if (i % 20 == 19) REQUIRE(store.checkpoint().ok());
    }
    for (int i = 0; i < objects; i += 7) {
      const std::string name = std::to_string(i);
      REQUIRE(::hexad::testing::remove(store, name).ok());
      values.erase(name);
    }
    REQUIRE(store.checkpoint().ok());
    write(store, objects);
  }

  void write(Store& store, int i) {
    const std::string name = std::to_string(i);
    const std::string value = noise(100 + 700 * (i % 40), i);
    REQUIRE(message_of(put(store, name, value).status()) == "");
    values[name] = value;
  }
  // What differs from what was written, or nothing.
  std::string difference(Store& store) {
    const Result<ListPage> page = store.list(kBucket);
    if (!page.ok()) return page.error().to_string();
    if (page->entries.size() != values.size()) {
      return std::to_string(page->entries.size()) + " objects instead of " +
             std::to_string(values.size());
    }
    for (const auto& [name, value] : values) {
      if (get(store, name) != value)
        return "object " + name + ": " + get(store, name).substr(0, 99);
    }
    return "";
  }
  bool says(Store& store, const std::string& text) {
    for (const std::string& note : store.status().notes) {
      if (note.find(text) != std::string::npos) return true;
    }
    return false;
  }
  // Opens for reading, then for writing; both have everything, and afterwards there is an index.
  void require_made_again(const std::string& problem) {
    {
      const auto before = fixture.fingerprint();
      Store store = fixture.open(Access::kReadOnly);
      CAPTURE(store.status().notes);
      REQUIRE(difference(store) == "");
      REQUIRE(says(store, problem));
      REQUIRE(deep_findings(store) == "");
      REQUIRE((fixture.fingerprint() == before));
    }
    {
      Store store = fixture.open();
      CAPTURE(store.status().notes);
      REQUIRE(difference(store) == "");
      REQUIRE(says(store, problem));
      write(store, 1000);
      while (counter(store, "indexes_rebuilt") == 0) std::this_thread::yield();
      write(store, 1001);
      REQUIRE(store.checkpoint().ok());
      REQUIRE(difference(store) == "");
      REQUIRE(deep_findings(store) == "");
      REQUIRE(store.close().ok());
    }
    Store store = fixture.open();
    CAPTURE(store.status().notes);
    REQUIRE_FALSE(says(store, "index"));
    REQUIRE(store.space()->metadata > 0);
    REQUIRE(difference(store) == "");
    REQUIRE(deep_findings(store) == "");
  }

  fs::path index() const { return fixture.directory / "fast" / "index"; }
  fs::path file() const { return index() / "data.mdb"; }
  void lose_fast_tier() {
    fixture.memory.remove_device((fixture.directory / "fast" / "log").string());
    fs::remove_all(fixture.directory / "fast");
  }

  StoreFixture fixture;
  std::map<std::string, std::string> values;
};

void flip(const fs::path& path, std::uint64_t at, char mask) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(at));
  const char old = static_cast<char>(file.get());
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(old ^ mask));
}

TEST_CASE(
    "lost index: one that is gone, cut, foreign or no index at all is made again from the runs") {
  World world;
  SECTION("the directory is gone") {
    fs::remove_all(world.index());
    world.require_made_again("is missing");
  }
  SECTION("the file is gone") {
    fs::remove(world.file());
    world.require_made_again("is missing");
  }
  SECTION("empty") {
    fs::resize_file(world.file(), 0);
    world.require_made_again("cannot be used");
  }
  SECTION("cut in its first page") {
    fs::resize_file(world.file(), 100);
    world.require_made_again("cannot be used");
  }
  SECTION("cut in half") {
    fs::resize_file(world.file(), fs::file_size(world.file()) / 2 / 4096 * 4096);
    REQUIRE(message_of(world.fixture.try_open(Access::kReadOnly).status()) == "");
    Store opened = world.fixture.open();
    REQUIRE(world.difference(opened) == "");
    REQUIRE(deep_findings(opened) == "");
  }
  SECTION("something else") {
    std::ofstream(world.file(), std::ios::binary) << std::string(100'000, 'x');
    world.require_made_again("cannot be used");
  }
  SECTION("another store's") {
    World other(20);
    fs::copy(other.file(), world.file(), fs::copy_options::overwrite_existing);
    world.require_made_again("cannot be used");
  }
}

TEST_CASE("lost index: an older copy gets what it lacks from the runs, or is made again") {
  World world;
  const std::string old = io::testing::file_bytes(world.file());
  const int checkpoints = GENERATE(1, 2, 30);
  CAPTURE(checkpoints);
  {
    Store store = world.fixture.open();
    for (int i = 0; i < checkpoints; ++i) {
      world.write(store, 100 + i);
      REQUIRE(::hexad::testing::remove(store, std::to_string(99 + i)).ok());
      world.values.erase(std::to_string(99 + i));
      REQUIRE(store.checkpoint().ok());
    }
    if (checkpoints == 2) REQUIRE(store.close().ok());
  }
  std::ofstream(world.file(), std::ios::binary | std::ios::trunc) << old;
  for (const Access access : {Access::kReadOnly, Access::kReadWrite, Access::kReadWrite}) {
    Store store = world.fixture.open(access);
    CAPTURE(store.status().notes);
    REQUIRE(world.difference(store) == "");
    REQUIRE(deep_findings(store) == "");
    if (access == Access::kReadWrite) {
      world.write(store, 1000);
      REQUIRE(store.checkpoint().ok());
      REQUIRE(world.difference(store) == "");
    }
  }
}

TEST_CASE("lost index: a bit that flips anywhere in the file loses nothing, and harms no process") {
  World world;
  const std::string whole = io::testing::file_bytes(world.file());
  io::Rng rng(1);
  for (int i = 0; i < 60; ++i) {
    CAPTURE(i);
    // Often in the head of a page, where its structure is.
    const std::uint64_t page = rng.below(whole.size() / 4096) * 4096;
    const std::uint64_t at = page + (i % 2 == 0 ? rng.below(64) : rng.below(4096));
    CAPTURE(at);
    std::ofstream(world.file(), std::ios::binary | std::ios::trunc) << whole;
    flip(world.file(), at, static_cast<char>(1 << rng.below(8)));
    Store store = world.fixture.open(Access::kReadOnly);
    CAPTURE(store.status().notes);
    REQUIRE(world.difference(store) == "");
  }
}

TEST_CASE("lost index: an index ahead of the devices is evidence, and refused") {
  World world;
  std::map<std::string, Bytes> devices;
  for (std::size_t i = 0; i < 6; ++i) {
    devices[world.fixture.device(i)] = read_media(*world.fixture.media(i));
  }
  const std::string log = (world.fixture.directory / "fast" / "log").string();
  const Bytes old_log = read_media(*world.fixture.memory.media(log));
  {
    Store store = world.fixture.open();
    for (int i = 0; i < 5; ++i) world.write(store, 200 + i);
    REQUIRE(store.close().ok());
  }
  for (std::size_t i = 0; i < 6; ++i) {
    world.fixture.media(i)->write(0, devices[world.fixture.device(i)]);
  }
  world.fixture.memory.media(log)->write(0, old_log);
  for (const Access access : {Access::kReadOnly, Access::kReadWrite}) {
    const Result<Store> store = world.fixture.try_open(access);
    REQUIRE(code_of(store) == ErrorCode::kCorruption);
    REQUIRE_THAT(store.error().to_string(), Catch::Contains("older than the fast tier"));
  }
}

// All devices are put back as they had been, and go on from there: what the index has is of LSNs
// and epochs that come again, and of other objects.
TEST_CASE("lost index: one of a history that was given up is not used") {
  const bool older = GENERATE(false, true);
  CAPTURE(older);
  World world;
  std::map<std::string, Bytes> devices;
  for (std::size_t i = 0; i < 6; ++i) devices[world.fixture.device(i)] = {};
  devices[(world.fixture.directory / "fast" / "log").string()] = {};
  for (auto& [path, bytes] : devices) bytes = read_media(*world.fixture.memory.media(path));
  const std::string before = io::testing::file_bytes(world.file());
  const auto put_index = [&](const std::string& bytes) {
    std::ofstream(world.file(), std::ios::binary | std::ios::trunc) << bytes;
  };
  {
    Store store = world.fixture.open();
    world.write(store, 200);
    REQUIRE(store.close().ok());
  }
  const std::string given_up = io::testing::file_bytes(world.file());
  world.values.erase("200");
  for (const auto& [path, bytes] : devices) world.fixture.memory.media(path)->write(0, bytes);
  put_index(before);
  {
    Store store = world.fixture.open();
    world.write(store, 201);
    if (older) {
      REQUIRE(store.checkpoint().ok());
      world.write(store, 202);
    }
    REQUIRE(store.close().ok());
  }
  put_index(given_up);
  for (const Access access : {Access::kReadOnly, Access::kReadWrite}) {
    Store store = world.fixture.open(access);
    CAPTURE(store.status().notes);
    REQUIRE(world.difference(store) == "");
    REQUIRE(deep_findings(store) == "");
    if (access == Access::kReadWrite) REQUIRE(world.says(store, "another opening for writing"));
    REQUIRE(store.close().ok());
  }
}

// The log's copies are on the fast tier and on devices 0, 1 and 2.
TEST_CASE("lost index: the whole fast tier and two devices are lost at once, and nothing else is") {
  for (const auto& [a, b] : pairs_below(6)) {
    CAPTURE(a, b);
    World world(40);
    world.lose_fast_tier();
    world.fixture.take_away(a);
    world.fixture.take_away(b);
    {
      Store store = world.fixture.open(Access::kReadOnly);
      REQUIRE(world.difference(store) == "");
    }
    Store store = world.fixture.open();
    REQUIRE(world.difference(store) == "");
    world.write(store, 1000);
    REQUIRE(store.checkpoint().ok());
    REQUIRE(world.difference(store) == "");
    REQUIRE(deep_findings(store) == "");
    REQUIRE(store.close().ok());
  }
}

TEST_CASE("lost index: what the index does not take stays in the runs, and a new one is made") {
  World world;
  // A file where the environment wants to grow, and a directory that nobody may write.
  fs::remove_all(world.index());
  std::ofstream(world.index()) << "in the way";
  {
    Store store = world.fixture.open();
    CAPTURE(store.status().notes);
    for (int i = 0; i < 5; ++i) {
      world.write(store, 300 + i);
      REQUIRE(store.checkpoint().ok());
    }
    REQUIRE(world.difference(store) == "");
    REQUIRE(counter(store, "indexes_rebuilt") == 0);
    fs::remove(world.index());
    world.write(store, 400);
    REQUIRE(store.checkpoint().ok());
    while (counter(store, "indexes_rebuilt") == 0) std::this_thread::yield();
    REQUIRE(world.difference(store) == "");
    REQUIRE(deep_findings(store) == "");
    REQUIRE(store.close().ok());
  }
  Store store = world.fixture.open();
  REQUIRE_FALSE(world.says(store, "index"));
  REQUIRE(world.difference(store) == "");
}

}  // namespace
}  // namespace hexad::testing
