// What a device that has come back lacks is given to it in the background: all the time where
// nobody uses the store, half of it where somebody does. In simulated time.
#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include "tests/core/faults/growing_world.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

using Use = std::function<bool(GrowingWorld&, Store&)>;

// Simulated time until a device lacks nothing any more, while a thread does `use` again and again.
io::Nanos time_to_be_whole(SimOrigin& origin, const Use& use, std::string& problem) {
  const auto system = origin.start(1);
  GrowingWorld world{*system, origin.pool()};
  io::Nanos took = 0;
  system->run([&] {
    system->disk("dev3").vanish();
    world.open([&](Store& store) { world.churn(store, 80); });
    system->disk("dev3").appear();
    RuntimeOptions how = growing();
    how.catch_up = CatchUp::kInBackground;
    world.open_with(how, [&](Store& store) {
      const auto lacks = [&] { return GrowingWorld::device(store, 3)->missing_bytes > 0; };
      world.expect(lacks(), "it lacks nothing");
      const io::Nanos began = system->clock().now();
      bool over = false;
      const auto user = system->executor().start("user", [&] {
        while (!over && use && world.problem.empty()) {
          world.expect(use(world, store), "a use has failed");
          system->executor().sleep_for(500'000);
        }
      });
      while (lacks() && world.problem.empty()) system->executor().sleep_for(100'000);
      took = system->clock().now() - began;
      over = true;
      user->join();
    });
  });
  problem = world.problem;
  return took;
}

TEST_CASE("catch-up pace: it rests beside commits, streams and reads, and not otherwise") {
  SimOrigin origin(large_disks(), fill);
  std::string problem;
  const io::Nanos idle = time_to_be_whole(origin, {}, problem);
  REQUIRE(problem == "");
  const Use put = [](GrowingWorld& world, Store& store) { return world.put(store); };
  const Use read = [](GrowingWorld&, Store& store) {
    return store.get(kDefaultCollection, "w4").ok();  // there is no cache
  };
  const Use stream = [](GrowingWorld&, Store& store) {
    const auto writer = store.open_writer(kDefaultCollection, "stream");
    return writer.ok() && (*writer)->append(as_bytes(noise(3'000'000, 1))).ok();  // no commit
  };
  for (const Use& use : {put, read, stream}) {
    const io::Nanos beside = time_to_be_whole(origin, use, problem);
    REQUIRE(problem == "");
    INFO("alone " << idle << " ns, beside a user " << beside);
    CHECK(beside >= idle * 5 / 4);
  }
}

}  // namespace
}  // namespace hexad::testing
