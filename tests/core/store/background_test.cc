// What the background thread is asked for while it works, and what it could not do at once.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "base/units.h"
#include "tests/core/rules_world.h"

namespace hexad::testing {
namespace {

constexpr std::size_t kAttribute = 50'000;  // bytes of metadata in one commit

// Metadata, so that the memtable and the log fill up.
bool commit_metadata(Store& store, int number) {
  Transaction t;
  t.create(kDefaultCollection, std::to_string(number));
  t.set_attr(kDefaultCollection, std::to_string(number), "large", noise(kAttribute, number));
  return store.commit(std::move(t)).ok();
}

std::uint64_t checkpoints(Store& store) {
  for (const Counter& counter : store.counters()) {
    if (counter.name == "checkpoints") return counter.since_open;
  }
  return 0;
}

struct Filled {
  RuntimeOptions options;
  int before = 0;      // commits that make a checkpoint due
  int meanwhile = 0;   // commits while its run is held back
  bool small = false;  // the latter have no metadata to speak of
};

// How many checkpoints there are in the end. Commits write into caches that there are not, runs ask
// for more, and no header of a zone is that long: so runs can be held back alone.
std::uint64_t checkpoints_made(const Filled& filled) {
  World world;
  std::uint64_t made = 0;
  REQUIRE(world.with_store(
              [&](Store& store) -> std::string {
                int held = 0;
                world.hold([&](const SimOp& op) {
                  const bool run = is_cell(op) && op.mode == io::WriteMode::kDurable;
                  held += run ? 1 : 0;
                  return run;
                });
                for (int i = 0; i < filled.before; ++i) {
                  if (!commit_metadata(store, i)) return "before";
                }
                world.sleep();
                if (held == 0) return "no checkpoint was due";
                for (int i = 0; i < filled.meanwhile; ++i) {
                  const std::string name = "meanwhile" + std::to_string(i);
                  const bool good = filled.small ? store.commit(put_of(name, "small")).ok()
                                                 : commit_metadata(store, filled.before + i);
                  if (!good) return "meanwhile";
                }
                world.release();
                world.sleep();
                world.sleep();
                made = checkpoints(store);
                return "";
              },
              filled.options) == "");
  return made;
}

TEST_CASE("background: what is due while a checkpoint is made is written by one more") {
  Filled filled;
  filled.options.memtable_size = 64_KiB;
  filled.before = 2;
  filled.meanwhile = 2;
  REQUIRE(checkpoints_made(filled) == 2);
}

TEST_CASE("background: a log that is half full until it is trimmed asks for one checkpoint alone") {
  Filled filled;
  filled.before = 12;  // of 1 MiB
  filled.meanwhile = 3;
  filled.small = true;
  REQUIRE(checkpoints_made(filled) == 1);
}

void sleep(World& world, io::Nanos time) { world.system().executor().sleep_for(time); }

bool says(Store& store, const std::string& text) {
  for (const std::string& note : store.status().notes) {
    if (note.find(text) != std::string::npos) return true;
  }
  return false;
}

TEST_CASE("background: what could not be taken back is tried again, less and less often") {
  constexpr int kMany = 2500;  // objects: more than go with one record
  constexpr io::Nanos kSecond = 1'000'000'000;
  const std::string problem = "reclaiming the space of a removed object failed";
  World world;
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    for (int i = 0; i < kMany; i += 100) {
      Transaction t;
      if (i == 0) t.create_collection("photos");
      for (int j = i; j < i + 100; ++j) t.put("photos", std::to_string(j), noise(100, j));
      if (!store.commit(std::move(t)).ok()) return "fill";
    }
    return store.close().ok() ? "" : "close";
  }) == "");
  // Without an index, metadata is read from the devices.
  const std::filesystem::path index = world.fast_directory() / "index";
  std::filesystem::remove_all(index);
  std::ofstream(index) << "in the way";
  int failed_at_2 = 0;
  int failed_at_20 = 0;
  int failed_at_40 = 0;
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    world.sleep();  // the background has done what opening left it
    // From the first write of the removal on nothing can be read.
    bool failing = false;
    int failed = 0;
    world.hook([&](const SimOp& op) -> std::optional<FaultKind> {
      failing = failing || op.op == io::IoOp::kWrite;
      if (!failing || op.op != io::IoOp::kRead) return std::nullopt;
      ++failed;
      return FaultKind::kReadError;
    });
    Transaction t;
    t.remove_collection("photos", Contents::kRemoved);
    if (!store.commit(std::move(t)).ok()) return "remove";
    sleep(world, 2 * kSecond);
    failed_at_2 = failed;
    sleep(world, 18 * kSecond);
    failed_at_20 = failed;
    sleep(world, 20 * kSecond);
    failed_at_40 = failed;
    if (!says(store, problem)) return "it went well";
    world.hook(nullptr);
    sleep(world, 10 * kSecond);
    if (says(store, problem)) return "nothing was tried again";
    const Result<SpaceUsage> space = store.space();
    if (!space.ok()) return space.error().to_string();
    if (space->objects != 1) return std::to_string(space->objects) + " objects";
    return findings(store);
  }) == "");
  REQUIRE(failed_at_2 > 0);
  REQUIRE(failed_at_40 > failed_at_20);
  REQUIRE(failed_at_40 - failed_at_20 < failed_at_2);
}

TEST_CASE("background: the capacity is the same whenever one asks, also while zones are made") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    World world({.immediate = seed % 2 == 0, .seed = seed});
    REQUIRE(world.with_store([&](Store& store) -> std::string {
      const std::uint64_t capacity = store.space()->capacity;
      bool done = false;
      std::string problem;
      auto writer = world.system().executor().start("writer", [&] {
        for (int i = 0; i < 40; ++i) {
          if (!store.commit(put_of(std::to_string(i), noise(4 * kLarge, i))).ok()) problem = "put";
        }
        done = true;
      });
      while (!done) {
        const Result<SpaceUsage> space = store.space();
        if (!space.ok()) problem = "space";
        if (space.ok() && space->capacity != capacity) {
          problem = std::to_string(space->capacity) + " instead of " + std::to_string(capacity);
        }
        if (space.ok() && space->available > capacity) problem = "more is available than there is";
        sleep(world, 20'000);
      }
      writer->join();
      return problem;
    }) == "");
  }
}

}  // namespace
}  // namespace hexad::testing
