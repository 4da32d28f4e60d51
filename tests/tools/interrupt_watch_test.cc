#include "tools/cli/interrupt_watch.h"

#include <catch2/catch.hpp>

#include "io/sim/sim_system.h"

namespace hexad::tools {
namespace {

constexpr io::Nanos kSecond = 1'000'000'000;

TEST_CASE("interrupt_watch: what was interrupted and goes on is ended within a second, once") {
  io::SimSystem system;
  std::vector<io::Nanos> ended;
  system.run([&] {
    const io::Nanos began = system.clock().now();
    const auto age = [&] { return system.clock().now() - began; };
    const InterruptWatch watch(
        system.executor(), [&] { return age() >= 5 * kSecond; }, [&] { ended.push_back(age()); });
    system.executor().sleep_for(20 * kSecond);
  });
  REQUIRE(ended.size() == 1);
  REQUIRE(ended[0] >= 5 * kSecond + InterruptWatch::kGrace);
  REQUIRE(ended[0] < 6 * kSecond);
}

TEST_CASE("interrupt_watch: what ends by itself in time is left alone") {
  io::SimSystem system;
  int ended = 0;
  io::Nanos took = -1;
  system.run([&] {
    const io::Nanos began = system.clock().now();
    {
      const InterruptWatch watch(
          system.executor(), [] { return true; }, [&] { ++ended; });
      system.executor().sleep_for(kSecond / 2);
    }
    took = system.clock().now() - began;
  });
  REQUIRE(ended == 0);
  REQUIRE(took < kSecond);
}

TEST_CASE("interrupt_watch: without a signal nothing is ended") {
  io::SimSystem system;
  int ended = 0;
  system.run([&] {
    const InterruptWatch watch(
        system.executor(), [] { return false; }, [&] { ++ended; });
    system.executor().sleep_for(1000 * kSecond);
  });
  REQUIRE(ended == 0);
}

}  // namespace
}  // namespace hexad::tools
