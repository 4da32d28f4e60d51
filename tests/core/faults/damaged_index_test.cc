// Whatever has become of the files of the index: the store opens for writing with everything that
// it had, goes on, and has a sound index at the next opening. tests/core/faults/lost_index_test.cc
// has what is gone altogether, and evidence of lost devices.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>
#include <vector>

#include "io/rng.h"
#include "tests/core/faults/plain_content.h"
#include "tests/core/store_fixture.h"
#include "tests/io/bound_by_modes.h"
#include "tests/io/file_bytes.h"

namespace hexad::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPage = 4096;  // of LMDB, bytes

void write_all(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// Pages in which anything was ever written.
std::vector<std::uint64_t> written_pages(const std::string& image) {
  std::vector<std::uint64_t> pages;
  for (std::uint64_t page = 0; (page + 1) * kPage <= image.size(); ++page) {
    const std::string_view bytes = std::string_view(image).substr(page * kPage, kPage);
    if (bytes.find_first_not_of('\0') != std::string_view::npos) pages.push_back(page);
  }
  return pages;
}

class World {
 public:
  // Runs, and a log with something in it.
  World() {
    Store store = fixture.open();
    for (int i = 0; i < 60; ++i) {
      content.put(store, i);
      if (i % 20 == 19) REQUIRE(message_of(store.checkpoint()) == "");
      if (i == 39) older_ = io::testing::file_bytes(file());
    }
    for (int i = 0; i < 60; i += 7) content.remove(store, i);
    REQUIRE(message_of(store.checkpoint()) == "");
    content.put(store, 60);
  }

  fs::path directory() const { return fixture.directory / "fast" / "index"; }
  fs::path file() const { return directory() / "data.mdb"; }
  fs::path lock_file() const { return directory() / "lock.mdb"; }
  // The file as of an earlier checkpoint.
  const std::string& older() const { return older_; }

  void write_something(Store& store) {
    content.put(store, next_);
    content.put(store, next_ + 1);
    content.remove(store, next_);
    next_ += 2;
  }
  void require_exact(Store& store) {
    CAPTURE(store.status().notes);
    REQUIRE(content.difference(store) == "");
    REQUIRE(deep_findings(store) == "");
  }
  // No opening finds anything wrong, and the index is in use.
  void require_sound() {
    Store store = fixture.open();
    require_exact(store);
    REQUIRE_FALSE(says(store, "index"));
    REQUIRE(store.space()->metadata > 0);
  }
  // Whether the index was made again.
  bool require_whole() {
    {
      Store store = fixture.open(Access::kReadOnly);
      CAPTURE(store.status().notes);
      REQUIRE(content.difference(store) == "");
    }
    bool again = false;
    {
      Store store = fixture.open();
      again = says(store, "made again from the runs");
      require_exact(store);
      write_something(store);
      while (again && counter(store, "indexes_rebuilt") == 0) std::this_thread::yield();
      write_something(store);
      REQUIRE(message_of(store.checkpoint()) == "");
      require_exact(store);
      REQUIRE(message_of(store.close()) == "");
    }
    require_sound();
    return again;
  }
  // What could not be made is tried again after each checkpoint.
  void wait_for_index(Store& store) {
    while (counter(store, "indexes_rebuilt") == 0) {
      content.put(store, 0);
      REQUIRE(message_of(store.checkpoint()) == "");
      for (int i = 0; i < 1000 && counter(store, "indexes_rebuilt") == 0; ++i) {
        std::this_thread::yield();
      }
    }
  }

  StoreFixture fixture;
  PlainContent content;

 private:
  std::string older_;
  int next_ = 1000;
};

TEST_CASE("damaged index: a file of any length") {
  World world;
  const std::string whole = io::testing::file_bytes(world.file());
  const std::uint64_t used = (written_pages(whole).back() + 1) * kPage;
  REQUIRE(used < whole.size() / 2);
  // Both meta pages, and nothing behind them, is too little for any index that holds something.
  for (const std::uint64_t length : {std::uint64_t{0}, kPage, kPage + 1, 2 * kPage}) {
    CAPTURE(length);
    write_all(world.file(), std::string_view(whole).substr(0, length));
    REQUIRE(world.require_whole());
  }
  // Longer ones may be whole, where nothing is in the pages that are missing.
  for (const std::uint64_t length :
       {used / 2, used - kPage, used - 1, used, used + 1, whole.size() / 2, whole.size() - 1}) {
    CAPTURE(length);
    fs::resize_file(world.file(), std::min<std::uint64_t>(length, fs::file_size(world.file())));
    world.require_whole();
  }
}

TEST_CASE("damaged index: bits that flip in pages that hold something") {
  World world;
  const std::uint64_t seed = 5;
  CAPTURE(seed);
  io::Rng rng(seed);
  int made_again = 0;
  for (int round = 0; round < 24; ++round) {
    std::string image = io::testing::file_bytes(world.file());
    const std::vector<std::uint64_t> pages = written_pages(image);
    // The meta pages, the heads of pages, where their structure is, and anywhere.
    const std::uint64_t page =
        round % 3 == 0 ? rng.below(2) : pages[static_cast<std::size_t>(rng.below(pages.size()))];
    const std::uint64_t at = page * kPage + rng.below(round % 3 == 0   ? 152
                                                      : round % 3 == 1 ? 64
                                                                       : kPage);
    CAPTURE(round, at);
    image[at] = static_cast<char>(image[at] ^ (1 << rng.below(8)));
    write_all(world.file(), image);
    made_again += world.require_whole() ? 1 : 0;
  }
  REQUIRE(made_again > 0);
}

TEST_CASE("damaged index: an older file, another store's, noise") {
  World world;
  SECTION("as of an earlier checkpoint") {
    write_all(world.file(), world.older());
    world.require_whole();
  }
  SECTION("as of an earlier checkpoint, again and again") {
    for (int round = 0; round < 5; ++round) {
      CAPTURE(round);
      const std::string before = io::testing::file_bytes(world.file());
      {
        Store store = world.fixture.open();
        for (int i = 0; i <= round; ++i) {
          world.write_something(store);
          REQUIRE(message_of(store.checkpoint()) == "");
        }
      }
      write_all(world.file(), before);
      world.require_whole();
    }
  }
  SECTION("another store's") {
    const World other;
    write_all(world.file(), io::testing::file_bytes(other.file()));
    REQUIRE(world.require_whole());
  }
  SECTION("noise behind the meta pages") {
    std::string image = io::testing::file_bytes(world.file());
    image.replace(2 * kPage, 50 * kPage, noise(50 * kPage, 1));
    write_all(world.file(), image);
    REQUIRE(world.require_whole());
  }
}

TEST_CASE("damaged index: remains of a lock file mean nothing") {
  World world;
  const std::string remains = GENERATE(std::string(), std::string("x"), noise(100'000, 1));
  write_all(world.lock_file(), remains);
  REQUIRE_FALSE(world.require_whole());
}

TEST_CASE("damaged index: a link or a pipe in the place of the file makes way for a new one") {
  World world;
  SECTION("a link, whose target stays") {
    const fs::path elsewhere = world.fixture.directory / "elsewhere";
    fs::rename(world.file(), elsewhere);
    fs::create_symlink(elsewhere, world.file());
    const std::string before = io::testing::file_bytes(elsewhere);
    REQUIRE(world.require_whole());
    REQUIRE((io::testing::file_bytes(elsewhere) == before));
  }
  SECTION("a pipe that nobody writes to") {
    fs::remove(world.file());
    REQUIRE(::mkfifo(world.file().c_str(), 0600) == 0);
    REQUIRE(world.require_whole());
  }
  REQUIRE(fs::is_regular_file(fs::symlink_status(world.file())));
}

TEST_CASE("damaged index: a file that nobody may read makes way for a new one") {
  World world;
  REQUIRE(::chmod(world.file().c_str(), 0) == 0);
  const io::testing::BoundByModes bound;
  REQUIRE(world.require_whole());
}

TEST_CASE("damaged index: a directory in the place of a file is told, until it is out of the way") {
  World world;
  const fs::path where = GENERATE(0, 1) == 0 ? world.file() : world.lock_file();
  CAPTURE(where.filename().string());
  fs::remove(where);
  fs::create_directory(where);
  {
    Store store = world.fixture.open(Access::kReadOnly);
    world.require_exact(store);
  }
  {
    Store store = world.fixture.open();
    REQUIRE(says(store, "the index on the fast tier cannot be"));
    for (int i = 0; i < 3; ++i) {
      world.write_something(store);
      REQUIRE(message_of(store.checkpoint()) == "");
      world.require_exact(store);
      REQUIRE(store.space()->metadata == 0);
    }
    while (!says(store, "making a new index on the fast tier failed")) std::this_thread::yield();
    REQUIRE(message_of(store.close()) == "");
  }
  {
    Store store = world.fixture.open();
    world.require_exact(store);
    fs::remove(where);
    world.wait_for_index(store);
    while (says(store, "making a new index")) std::this_thread::yield();
    world.require_exact(store);
    REQUIRE(store.space()->metadata > 0);
    REQUIRE(message_of(store.close()) == "");
  }
  world.require_sound();
}

// A large one is verified in the background.
TEST_CASE(
    "damaged index: one that is too large to be verified at the opening is not asked before") {
  World world;
  std::string image = io::testing::file_bytes(world.file());
  std::optional<std::uint64_t> made;  // the older one: where the runs have been merged since
  SECTION("a sound one") { made = 0; }
  SECTION("an older one") { image = world.older(); }
  SECTION("a damaged one") {
    made = 1;
    // The ends of entries; not those that opening it looks at.
    for (const std::uint64_t page : written_pages(image)) {
      const std::string_view bytes = std::string_view(image).substr(page * kPage, kPage);
      if (page < 2 || bytes.find("hexad") != std::string_view::npos ||
          bytes.find("state") != std::string_view::npos) {
        continue;
      }
      image[(page + 1) * kPage - 1] = static_cast<char>(image[(page + 1) * kPage - 1] ^ 0x40);
    }
  }
  write_all(world.file(), image);
  fs::resize_file(world.file(), 40 << 20);
  {
    Store store = world.fixture.open(Access::kReadOnly);
    CAPTURE(store.status().notes);
    REQUIRE(world.content.difference(store) == "");
  }
  {
    Store store = world.fixture.open();
    world.require_exact(store);
    world.write_something(store);
    while (store.space()->metadata == 0) std::this_thread::yield();
    world.require_exact(store);
    if (made.has_value()) REQUIRE(counter(store, "indexes_rebuilt") == *made);
    world.write_something(store);
    REQUIRE(message_of(store.checkpoint()) == "");
    world.require_exact(store);
    REQUIRE(message_of(store.close()) == "");
  }
  Store store = world.fixture.open();
  while (store.space()->metadata == 0) std::this_thread::yield();
  world.require_exact(store);
  REQUIRE_FALSE(says(store, "index"));
}

// LMDB goes by the kind of a page before it looks at anything else in it.
TEST_CASE("damaged index: pages of another kind than they should be") {
  World world;
  const std::string whole = io::testing::file_bytes(world.file());
  constexpr std::uint64_t kFlags = 10;  // in the head of a page: branch, leaf, overflow, leaf2
  for (const int flag : {0x01, 0x02, 0x04, 0x20}) {
    for (const std::uint64_t page : written_pages(whole)) {
      CAPTURE(flag, page);
      std::string image = whole;
      char& flags = image[page * kPage + kFlags];
      flags = static_cast<char>(flags ^ flag);
      write_all(world.file(), image);
      Store store = world.fixture.open(Access::kReadOnly);
      CAPTURE(store.status().notes);
      REQUIRE(world.content.difference(store) == "");
    }
  }
  std::string image = whole;
  for (const std::uint64_t page : written_pages(whole)) image[page * kPage + kFlags] ^= 0x01;
  write_all(world.file(), image);
  REQUIRE(world.require_whole());
}

// Where the flags of a tree are: of the free pages and of the tables in both meta pages, and of
// each table in the page that names it.
std::vector<std::uint64_t> flags_of(const std::string& image, std::string_view tree) {
  constexpr std::uint64_t kTrees = 40;     // in a meta page
  constexpr std::uint64_t kTreeSize = 48;  // bytes
  constexpr std::uint64_t kTreeFlags = 4;  // in a tree, two bytes
  std::vector<std::uint64_t> found;
  if (tree == "free pages" || tree == "tables") {
    const std::uint64_t at = kTrees + (tree == "tables" ? kTreeSize : 0) + kTreeFlags;
    return {at, kPage + at};
  }
  for (const std::uint64_t page : written_pages(image)) {
    const std::string_view bytes = std::string_view(image).substr(page * kPage, kPage);
    if (page < 2 || bytes.find("segments") == std::string_view::npos) continue;
    const std::size_t name = bytes.find(tree);
    if (name != std::string_view::npos) {
      found.push_back(page * kPage + name + tree.size() + kTreeFlags);
    }
  }
  return found;
}

// They say in which order keys are, and whether a key may have several values.
TEST_CASE("damaged index: trees with other flags than they should have") {
  World world;
  for (const char* tree : {"free pages", "tables", "hexad", "keys", "segments"}) {
    for (const int flag : {0x02, 0x04, 0x08, 0x10, 0x20, 0x40}) {
      CAPTURE(tree, flag);
      std::string image = io::testing::file_bytes(world.file());
      const std::vector<std::uint64_t> places = flags_of(image, tree);
      REQUIRE_FALSE(places.empty());
      for (const std::uint64_t at : places) image[at] = static_cast<char>(image[at] ^ flag);
      write_all(world.file(), image);
      world.require_whole();
    }
  }
}

TEST_CASE("damaged index: that of a store with everything in its log") {
  StoreFixture fixture;
  PlainContent content;
  const fs::path file = fixture.directory / "fast" / "index" / "data.mdb";
  {
    Store store = fixture.open();
    for (int i = 0; i < 10; ++i) content.put(store, i);
  }
  // The root of the table of keys, in which next to nothing is, is now somewhere.
  std::string image = io::testing::file_bytes(file);
  for (const std::uint64_t at : flags_of(image, "keys")) {
    image[at + 36 + 7] = static_cast<char>(image[at + 36 + 7] ^ 0x80);
  }
  write_all(file, image);
  for (const Access access : {Access::kReadOnly, Access::kReadWrite, Access::kReadWrite}) {
    Store store = fixture.open(access);
    CAPTURE(store.status().notes);
    REQUIRE(content.difference(store) == "");
    REQUIRE(deep_findings(store) == "");
    if (access == Access::kReadOnly) continue;
    content.put(store, 100);
    REQUIRE(message_of(store.checkpoint()) == "");
    REQUIRE(content.difference(store) == "");
  }
}

}  // namespace
}  // namespace hexad::testing
