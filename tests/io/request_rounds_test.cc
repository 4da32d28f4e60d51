#include "io/request_rounds.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <deque>
#include <thread>
#include <vector>

#include "io/rng.h"

namespace hexad::io {
namespace {

TEST_CASE("request rounds: one that answers others owes the answer to one") {
  RequestRounds rounds;
  Nanos time = 1000;  // it had nothing to do until then
  const auto now = [&] { return time; };
  CHECK(rounds.is_empty());
  CHECK(rounds.owing_for(time) == 0);
  // Others are under way when it goes out, and are answered.
  const std::uint8_t before = rounds.sent(now);
  const std::uint8_t hanging = rounds.sent(now);
  CHECK(before != hanging);
  time = 1010;
  rounds.answered(before, time);
  for (time = 1011; time <= 1100; ++time) {
    const std::uint8_t a = rounds.sent(now);
    const std::uint8_t b = rounds.sent(now);
    CHECK(a == b);
    rounds.answered(b, time);
    rounds.answered(a, time);
    CHECK(rounds.silent_for(time) == 0);
    CHECK(rounds.owing_for(time) == time - 1010);
  }
  CHECK(rounds.silent_for(1200) == 100);
  CHECK(rounds.owing_for(1200) == 190);
  rounds.answered(hanging, 1300);
  CHECK(rounds.is_empty());
  CHECK(rounds.owing_for(1400) == 0);
  CHECK(rounds.silent_for(1400) == 0);
}

// However old its requests are, in whatever order it answers them, while others go on coming.
TEST_CASE("request rounds: one that works through a long backlog owes nothing") {
  for (const int order : {0, 1, 2}) {
    CAPTURE(order);
    RequestRounds rounds;
    Rng rng(7);
    Nanos time = 0;
    const auto now = [&] { return time; };
    std::deque<std::pair<std::uint8_t, Nanos>> under_way;  // and when it went out
    for (int i = 0; i < 500; ++i) under_way.emplace_back(rounds.sent(now), time);
    Nanos oldest = 0;
    for (time = 10; time < 10'000; time += 10) {
      // The first, the last of a sweep over half of it, any of the eldest 32.
      const std::size_t at = order == 0   ? 0
                             : order == 1 ? under_way.size() / 2 * (time / 10 % 2)
                                          : rng.below(std::min<std::size_t>(32, under_way.size()));
      const auto one = under_way.begin() + static_cast<std::ptrdiff_t>(at);
      oldest = std::max(oldest, time - one->second);
      rounds.answered(one->first, time);
      under_way.erase(one);
      under_way.emplace_back(rounds.sent(now), time);
      CHECK(rounds.owing_for(time) <= 2000);
    }
    CHECK(oldest > 4000);
  }
}

TEST_CASE("request rounds: nothing is owed for the time before a round was the oldest") {
  RequestRounds rounds;
  Nanos time = 0;
  const auto now = [&] { return time; };
  const std::uint8_t first = rounds.sent(now);
  const std::uint8_t second = rounds.sent(now);
  rounds.answered(first, 59);
  CHECK(rounds.owing_for(60) == 1);
  rounds.answered(second, 70);
  time = 500;  // idle meanwhile
  const std::uint8_t third = rounds.sent(now);
  CHECK(rounds.owing_for(510) == 10);
  CHECK(rounds.silent_for(510) == 10);
  rounds.answered(third, 520);
}

// RR3: the clock is asked once for a round.
TEST_CASE("request rounds: what joins a round asks for no time") {
  RequestRounds rounds;
  int asked = 0;
  const auto now = [&] { return Nanos{++asked}; };
  std::vector<std::uint8_t> all;
  for (int i = 0; i < 100; ++i) all.push_back(rounds.sent(now));
  CHECK(asked == 1);
  for (const std::uint8_t round : all) rounds.answered(round, 5);
  CHECK(rounds.is_empty());
}

// Threads that come and go while one request hangs, and while none does.
TEST_CASE("request rounds: many threads at once lose no request, and hide none that hangs") {
  RequestRounds rounds;
  std::atomic<Nanos> time{1};
  const auto now = [&] { return time.fetch_add(1); };
  std::atomic<Nanos> most{0};
  const auto churn = [&] {
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        Rng rng(t);
        for (int i = 0; i < 20'000; ++i) {
          std::uint8_t out[3];
          const std::uint64_t count = 1 + rng.below(3);
          for (std::uint64_t k = 0; k < count; ++k) out[k] = rounds.sent(now);
          if (i % 64 == 0) most = std::max(most.load(), rounds.owing_for(now()));
          for (std::uint64_t k = count; k-- > 0;) rounds.answered(out[k], now());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  };
  churn();
  REQUIRE(rounds.is_empty());
  REQUIRE(rounds.owing_for(now()) == 0);
  const std::uint8_t hanging = rounds.sent(now);
  churn();
  rounds.owing_for(now());  // it is the oldest by now, if it was not
  const Nanos since = now();
  churn();
  const Nanos end = now();
  REQUIRE(rounds.owing_for(end) >= end - since);
  REQUIRE(end - since > 100'000);
  rounds.answered(hanging, now());
  REQUIRE(rounds.is_empty());
}

}  // namespace
}  // namespace hexad::io
