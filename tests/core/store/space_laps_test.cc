// A store is filled with so much of what it says that it holds (Store::room_for(), `usable`) and
// then overwritten at random, lap after lap, by callers that each put one object at a time,
// durably: no put is refused. What that costs is counted, and what it leaves behind at rest.
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "tests/core/store/churn_blocks.h"

namespace hexad::testing {
namespace {

struct LapLoad {
  std::string name;
  ChurnSizes sizes;
  bool one_object = false;  // its blocks are overwritten
  std::size_t callers = 16;
  std::uint64_t device_size = 24_MiB;
  ChurnLaw law = {};  // none: uniform
};

// What was written to devices for what the cleaner moved, per byte of users, between two moments.
struct Copies {
  std::uint64_t written = 0;
  std::uint64_t moved = 0;

  static Copies now(Store& store) {
    return {counter(store, "written_bytes"), counter(store, "device_clean_bytes")};
  }
  double since(const Copies& before) const {
    return static_cast<double>(moved - before.moved) /
           static_cast<double>(written - before.written);
  }
};

// From 1 KiB to 4 MiB, of each size more bytes than of the one before.
ChurnSizes up_to_4_mib() {
  ChurnSizes sizes;
  for (const auto& [count, size] :
       {std::pair{16, 1_KiB}, std::pair{16, 4_KiB}, std::pair{8, 16_KiB}, std::pair{4, 64_KiB},
        std::pair{2, 256_KiB}, std::pair{1, 1_MiB}, std::pair{1, 4_MiB}}) {
    sizes.insert(sizes.end(), static_cast<std::size_t>(count), size);
  }
  return sizes;
}

// How many objects of these sizes, in turn, take `percent` of what is usable: each takes as large a
// part of it as it would among others of its size.
Result<std::size_t> objects_at(Store& store, const ChurnSizes& sizes, std::uint64_t percent) {
  double part = 0;
  for (const std::size_t size : sizes) {
    HEXAD_TRY_ASSIGN(const ObjectRoom room, store.room_for(size));
    part += static_cast<double>(size) / static_cast<double>(room.usable);
  }
  return static_cast<std::size_t>(static_cast<double>(percent) / 100 / part *
                                  static_cast<double>(sizes.size()));
}

void run_laps(const LapLoad& load, std::uint64_t percent, std::size_t count) {
  CAPTURE(load.name, percent);
  SimPoolOptions options = churn_pool();
  options.device_size = load.device_size;
  SimPool pool(options);
  std::string said;
  const std::string wrong = pool.with_store([&](Store& store) -> std::string {
    ChurnBlocks blocks(store, load.one_object, load.sizes);
    // The blocks of one object come to lie as objects of their size do.
    const Result<std::size_t> objects = objects_at(store, load.sizes, percent);
    if (!objects.ok()) return message_of(objects.status());
    Status status = blocks.fill(*objects);
    if (!status.ok()) return "fill: " + message_of(status);
    const Copies before = Copies::now(store);
    status = blocks.overwrite_beside(pool, load.callers, count, load.law);
    if (!status.ok()) return message_of(status);
    const auto ratio = [](const SpaceUsage& usage) {
      return static_cast<double>(usage.allocated) / static_cast<double>(usage.user_bytes);
    };
    const double loaded = ratio(*store.space());
    const double copied = Copies::now(store).since(before);
    if (load.sizes == ChurnSizes{64_KiB} && copied > 0) return "objects of 64 KiB were moved";
    pool.sleep(60'000'000'000);
    char line[160];
    std::snprintf(line, sizeof line, "%zu objects, copied %.2f, allocated %.2f, at rest %.2f",
                  blocks.count(), copied, loaded, ratio(*store.space()));
    said = line;
    return blocks.check();
  });
  std::printf("%s, %d %% of what is usable, %zu callers, %zu laps: %s\n", load.name.c_str(),
              static_cast<int>(percent), load.callers, count, said.c_str());
  std::fflush(stdout);
  REQUIRE(wrong == "");
}

// All fills and twenty laps where the caller wants to know; else the fullest, and few laps.
bool all_laps() { return campaign_is_thorough() || std::getenv("CHURN_ALL") != nullptr; }

void laps(const LapLoad& load, std::size_t few) {
  if (!all_laps() && few == 0) return;
  for (const std::uint64_t percent : {25, 50, 75, 85, 90}) {
    if (all_laps() || percent == 90) run_laps(load, percent, all_laps() ? 20 : few);
  }
}

TEST_CASE("laps: objects of 1 KiB") { laps({"objects of 1 KiB", {1_KiB}}, 1); }
TEST_CASE("laps: objects of 4 KiB") { laps({"objects of 4 KiB", {4_KiB}}, 0); }
TEST_CASE("laps: objects of 16 KiB") { laps({"objects of 16 KiB", {16_KiB}}, 0); }
// They have stripes of their own, and nothing is moved.
TEST_CASE("laps: objects of 64 KiB") { laps({"objects of 64 KiB", {64_KiB}}, 4); }
TEST_CASE("laps: objects from 1 KiB to 4 MiB") {
  laps({"objects from 1 KiB to 4 MiB", up_to_4_mib(), false, 4, 96_MiB}, 2);
}
TEST_CASE("laps: blocks of 4 KiB of one object") {
  laps({"blocks of 4 KiB of one object", {kChurnBlock}, true}, 1);
}

TEST_CASE("laps: objects of 4 KiB, nine tenths of the writes to one tenth of them") {
  laps({"objects of 4 KiB, 90:10", {4_KiB}, false, 16, 24_MiB, churn_ninety_to_ten}, 0);
}
TEST_CASE("laps: objects of 4 KiB, by Zipf's law") {
  laps({"objects of 4 KiB, zipf 0.99", {4_KiB}, false, 16, 24_MiB, churn_zipf}, 0);
}

// For a person: copies per byte of users, at 90 % of what is usable, once they are what they stay.
TEST_CASE("copies: objects of 4 KiB at 90 %, uniform, 90:10 and zipf 0.99", "[.]") {
  constexpr std::size_t kFirst = 6;  // laps
  constexpr std::size_t kLast = 6;
  struct Load {
    const char* name;
    ChurnLaw law;
    double most;  // at most, as is asked for
  };
  for (const Load& load :
       {Load{"uniform", churn_uniform, 3.8}, Load{"90:10", churn_ninety_to_ten, 2.5},
        Load{"zipf 0.99", churn_zipf, 3.0}}) {
    SimPool pool(churn_pool());
    std::string said;
    const std::string wrong = pool.with_store([&](Store& store) -> std::string {
      ChurnBlocks blocks(store, false);
      const Result<std::size_t> objects = objects_at(store, {kChurnBlock}, 90);
      if (!objects.ok()) return message_of(objects.status());
      Status status = blocks.fill(*objects);
      const Copies filled = Copies::now(store);
      if (status.ok()) status = blocks.overwrite_beside(pool, 16, kFirst, load.law);
      const Copies settled = Copies::now(store);
      if (status.ok()) status = blocks.overwrite_beside(pool, 16, kLast, load.law);
      if (!status.ok()) return message_of(status);
      const Copies last = Copies::now(store);
      char line[160];
      std::snprintf(line, sizeof line,
                    "%zu objects, copied %.2f in the first %zu laps, %.2f in %zu", blocks.count(),
                    settled.since(filled), kFirst, last.since(settled), kLast);
      said = line;
      return blocks.check();
    });
    std::printf("%s, 90 %% of what is usable: %s more (%.1f are asked for)\n", load.name,
                said.c_str(), load.most);
    std::fflush(stdout);
    REQUIRE(wrong == "");
  }
}

}  // namespace
}  // namespace hexad::testing
