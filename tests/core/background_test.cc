// What shows of the background thread while it works.
#include <catch2/catch.hpp>
#include <string>

#include "tests/core/rules_world.h"

namespace hexad::testing {
namespace {

void sleep(World& world, io::Nanos time) { world.system().executor().sleep_for(time); }

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
