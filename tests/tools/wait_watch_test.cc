#include "tools/cli/wait_watch.h"

#include <catch2/catch.hpp>

#include "io/sim/sim_system.h"

namespace hexad::tools {
namespace {

constexpr io::Nanos kSecond = 1'000'000'000;

TEST_CASE("wait_watch: what is waited for is said when it begins, and ever more rarely") {
  io::SimSystem system;
  std::vector<std::pair<io::Nanos, std::string>> said;
  system.run([&] {
    const io::Nanos began = system.clock().now();
    const auto age = [&] { return (system.clock().now() - began) / kSecond; };
    // From 3 s on, with a break.
    const auto waits = [&]() -> std::vector<std::string> {
      if (age() < 3 || (age() >= 20 && age() < 22)) return {};
      return {"a disk"};
    };
    const WaitWatch watch(system.executor(), waits,
                          [&](const std::string& what) { said.emplace_back(age(), what); });
    system.executor().sleep_for(25 * kSecond + kSecond / 2);
  });
  std::vector<io::Nanos> times;
  for (const auto& [time, what] : said) {
    REQUIRE(what == "a disk");
    times.push_back(time);
  }
  REQUIRE(times == std::vector<io::Nanos>{3, 5, 9, 17, 22, 24});
}

TEST_CASE("wait_watch: a verb that is over does not wait for it") {
  io::SimSystem system;
  io::Nanos took = -1;
  system.run([&] {
    const io::Nanos began = system.clock().now();
    {
      const WaitWatch watch(
          system.executor(), [] { return std::vector<std::string>(); }, [](const std::string&) {});
      system.executor().sleep_for(kSecond / 4);
    }
    took = system.clock().now() - began;
  });
  REQUIRE(took < kSecond / 2);
}

}  // namespace
}  // namespace hexad::tools
