#include "io/read_times.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "io/rng.h"

namespace hexad::io {
namespace {

TEST_CASE("read times: nothing is told before there are enough") {
  ReadTimes times;
  for (std::uint32_t i = 1; i < ReadTimes::kFewest; ++i) {
    times.note(100'000);
    REQUIRE(times.median() == 0);
    REQUIRE(times.usual() == 0);
  }
  times.note(100'000);
  CHECK(times.median() >= 87'500);
  CHECK(times.median() <= 112'500);
  CHECK(times.usual() >= times.median());
}

TEST_CASE("read times: shares are at most an eighth off") {
  Rng rng(1);
  // From what is shorter than all buckets tell to what is longer.
  for (const Nanos scale : {Nanos{3'000}, Nanos{80'000}, Nanos{9'000'000}, Nanos{2'000'000'000}}) {
    CAPTURE(scale);
    ReadTimes times;
    std::vector<Nanos> all;
    for (int i = 0; i < 4096; ++i) {
      all.push_back(scale + static_cast<Nanos>(rng.below(static_cast<std::uint64_t>(scale))));
      times.note(all.back());
    }
    std::sort(all.begin(), all.end());
    const auto holds = [&](Nanos told, std::size_t share) {
      const Nanos true_one = all[all.size() * share / 1000];
      CHECK(told >= true_one - true_one / 8);
      CHECK(told <= true_one + true_one / 8);
    };
    holds(times.median(), 500);
    holds(times.usual(), 995);
  }
}

TEST_CASE("read times: what is out of all bounds is taken, too") {
  ReadTimes times;
  for (const Nanos took : {Nanos{-5}, Nanos{0}, Nanos{1}, Nanos{1} << 62}) {
    for (int i = 0; i < 1000; ++i) times.note(took);
  }
  CHECK(times.median() > 0);
  CHECK(times.usual() > Nanos{30} * 1'000'000'000);
}

TEST_CASE("read times: a device that gets slower is known as that soon, and one that recovers") {
  ReadTimes times;
  for (int i = 0; i < 100'000; ++i) times.note(100'000);
  CHECK(times.usual() < 120'000);
  for (int i = 0; i < 200; ++i) times.note(1'000'000);
  CHECK(times.usual() >= 875'000);
  CHECK(times.median() < 120'000);
  for (int i = 0; i < 10'000; ++i) times.note(1'000'000);
  CHECK(times.median() >= 875'000);
  for (int i = 0; i < 100'000; ++i) times.note(100'000);
  CHECK(times.usual() < 120'000);
}

TEST_CASE("read times: many threads") {
  ReadTimes times;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&times] {
      for (int i = 0; i < 20'000; ++i) times.note(100'000 + i % 7);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(times.median() >= 87'500);
  CHECK(times.usual() <= 120'000);
}

}  // namespace
}  // namespace hexad::io
