// While there is no index on the fast tier, what a transaction needs of the runs is read before it
// asks for its place in the order, so that nobody waits for a device under the sequencer's lock.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "core/commit/sequencer.h"
#include "core/opening/pool_options.h"
#include "tests/core/faulty_system.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

FormatOptions format() {
  FormatOptions format = small_format();
  format.device_size = 64_MiB;
  format.log_size = 4_MiB;
  return format;
}

constexpr int kObjects = 4000;
constexpr int kKeys = 600;  // of an omap

std::string name_of(int i) { return "object " + std::to_string(1000000 + i * 7919 % kObjects); }

class World {
 public:
  World() : faulty_(memory_), fixture(format(), &faulty_) {
    // Where the directory of the index would be.
    const std::filesystem::path index = core::index_directory(fixture.pool.fast_directories);
    std::filesystem::remove_all(index);
    std::ofstream(index) << "in the way";
    fill();
    const std::thread::id here = std::this_thread::get_id();
    // Of what it names all but `here` is of this thread alone.
    faulty_.watch([this, here](const io::IoRequest&) {
      if (std::this_thread::get_id() != here) return;
      if (core::Sequencer::held_here()) {
        ++under_lock_;
      } else if (before_read_) {
        before_read_();
      }
    });
  }
  // Before a request that this thread sends without the lock.
  void before_reads(std::function<void()> then) { before_read_ = std::move(then); }
  // Requests that this thread has sent while it held the lock.
  int under_lock() const { return under_lock_; }
  void put(Store& store, const std::string& name, const std::string& value) {
    REQUIRE(message_of(hexad::testing::put(store, name, value).status()) == "");
    values[name] = value;
  }
  std::string difference(Store& store) {
    for (const auto& [name, value] : values) {
      if (get(store, name) != value) return name + ": " + get(store, name).substr(0, 99);
    }
    return "";
  }

 private:
  // In several runs, and the last of it in the log.
  void fill() {
    Store store = fixture.open();
    for (int i = 0; i < kObjects; ++i) {
      put(store, name_of(i), noise(150, static_cast<std::uint64_t>(i)));
      if (i % 900 == 899) REQUIRE(store.checkpoint().ok());
    }
    REQUIRE(commit(store, [](Transaction& t) {
              t.put(kBucket, "paged", noise(2'500'000, 1));
              t.put(kBucket, "mapped", "");
              for (int key = 0; key < kKeys; ++key) {
                t.omap_set(kBucket, "mapped", "key " + std::to_string(1000 + key), noise(100, 7));
              }
            }).ok());
    for (std::uint64_t i = 0; i < 60; ++i) {
      REQUIRE(commit(store, [i](Transaction& t) {
                t.write(kBucket, "paged", 41'000 * i, as_bytes(noise(500, i)));
              }).ok());
    }
    REQUIRE(store.checkpoint().ok());
    put(store, name_of(5), "five");
    REQUIRE(store.close().ok());
  }

  io::MemorySystem memory_;
  FaultySystem faulty_;
  std::function<void()> before_read_;
  int under_lock_ = 0;

 public:
  StoreFixture fixture;
  std::map<std::string, std::string> values;
};

// Each with nothing in memory.
TEST_CASE("warm plans: no transaction waits for a device under the sequencer's lock") {
  World world;
  const auto after = [&](const Build& build) {
    Store store = world.fixture.open();
    REQUIRE(message_of(commit(store, build).status()) == "");
    CHECK(world.under_lock() == 0);
    const std::uint64_t cold = counter(store, "cold_attempts");
    CHECK(world.difference(store) == "");
    REQUIRE(store.close().ok());
    return cold;
  };
  // What ops name is read ahead, for all of them at once.
  CHECK(after([&](Transaction& t) {
          for (int i = 0; i < 300; ++i) {
            const std::string name = name_of(i * 13);
            t.put(kBucket, name, noise(200, 1000u + static_cast<std::uint64_t>(i)));
            world.values[name] = noise(200, 1000u + static_cast<std::uint64_t>(i));
          }
        }) == 0);
  CHECK(after([&](Transaction& t) {
          const std::string name = name_of(77);
          t.append(kBucket, name, as_bytes(std::string_view("more")));
          world.values[name] += "more";
          t.rename(kBucket, name_of(78), kBucket, "renamed");
          world.values["renamed"] = world.values[name_of(78)];
          world.values.erase(name_of(78));
          t.clone(kBucket, name_of(79), kBucket, name_of(80));
          world.values[name_of(80)] = world.values[name_of(79)];
          t.remove(kBucket, name_of(81));
          world.values.erase(name_of(81));
        }) <= 2);
  // What only the plan knows of takes another attempt.
  CHECK(after([&](Transaction& t) {
          t.write(kBucket, "paged", 1'200'000, as_bytes(std::string_view("in a page")));
        }) <= 1);  // none where the page lies beside the object
  CHECK(after([&](Transaction& t) {
          for (int key = 0; key < kKeys; key += 3) {
            t.omap_set(kBucket, "mapped", "key " + std::to_string(1000 + key),
                       std::string_view("new"));
          }
        }) >= 1);
  CHECK(after([&](Transaction& t) {
          t.remove_range(kBucket, "object 1000100", "object 1000200");
          world.values.erase(world.values.lower_bound("object 1000100"),
                             world.values.lower_bound("object 1000200"));
        }) >= 1);
  Store store = world.fixture.open();
  CHECK(deep_findings(store) == "");
}

TEST_CASE("warm plans: commits go on while checkpoints change what was read for them") {
  World world;
  Store store = world.fixture.open();
  std::thread checkpoints([&store] {
    for (int i = 0; i < 20; ++i) static_cast<void>(store.checkpoint());
  });
  for (int i = 0; i < 1000; ++i) {
    const int from = i * 31 % kObjects;
    REQUIRE(message_of(commit(store, [&](Transaction& t) {
                         for (int j = 0; j < 4; ++j) {
                           const std::string name = name_of(from + j * 17);
                           const std::string value = std::to_string(i) + "/" + std::to_string(j);
                           t.put(kBucket, name, value);
                           world.values[name] = value;
                         }
                       }).status()) == "");
  }
  checkpoints.join();
  CHECK(world.difference(store) == "");
  CHECK(deep_findings(store) == "");
}

// What is read ahead is of one state, and names its blobs as nobody else does: each of those who
// come in between gets the LSN that the attempt before had, and shows another blob under it.
TEST_CASE("warm plans: others write the page that is being read ahead") {
  World world;
  Store store = world.fixture.open();
  const auto write = [](Transaction& t, std::uint64_t offset, const std::string& bytes) {
    t.write(kBucket, "paged", offset, as_bytes(bytes));
  };
  int others = 0;
  world.before_reads([&] {
    if (others == 3 || counter(store, "cold_attempts") == 0) return;
    const auto i = static_cast<std::uint64_t>(others++);
    std::thread other([&, i] {
      CHECK(message_of(commit(store, [&](Transaction& t) {
                         write(t, 1'300'000 + 1000 * i, noise(700, 90 + i));
                       }).status()) == "");
    });
    other.join();
  });
  CHECK(message_of(commit(store, [&](Transaction& t) {
                     // What is not in memory comes before the page.
                     for (int key = 0; key < kKeys; key += 3) {
                       t.omap_set(kBucket, "mapped", "key " + std::to_string(1000 + key),
                                  std::string_view("new"));
                     }
                     write(t, 1'200'000, noise(600, 80));
                   }).status()) == "");
  CHECK(others > 0);
  world.before_reads([] {});
  const std::string shown = get(store, "paged");
  CHECK(shown.substr(1'200'000, 600) == noise(600, 80));
  CHECK(shown.substr(1'300'000, 700) == noise(700, 90));
  CHECK(deep_findings(store) == "");
}

}  // namespace
}  // namespace hexad::testing
