#include "io/event.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <thread>

#include "io/sim/sim_executor.h"

namespace hexad::io {
namespace {

TEST_CASE("event: what was written before it was set is seen by who has waited, on threads") {
  const std::unique_ptr<Executor> executor = make_thread_executor(1);
  for (int round = 0; round < 500; ++round) {
    const auto event = std::make_shared<Event>(*executor);
    int written = 0;
    std::thread waiter([event, &written, round] {
      event->wait();
      if (written == round + 1) ++written;
    });
    if (round % 2 == 0) std::this_thread::yield();
    written = round + 1;
    event->set();
    waiter.join();
    REQUIRE(written == round + 2);
    REQUIRE(event->is_set());
    event->wait();
    REQUIRE(event->wait_for(0));
  }
}

TEST_CASE("event: who waits for a time does so for that time, on threads") {
  const std::unique_ptr<Executor> executor = make_thread_executor(1);
  const auto event = std::make_shared<Event>(*executor);
  const Nanos began = executor->clock().now();
  REQUIRE_FALSE(event->wait_for(2'000'000));
  REQUIRE(executor->clock().now() - began >= 2'000'000);
  REQUIRE_FALSE(event->wait_for(0));
  std::thread setter([event] { event->set(); });
  event->wait();
  setter.join();
  REQUIRE(event->wait_for(0));
}

TEST_CASE("event: in a simulation as on threads") {
  SimExecutor executor(GENERATE(range(1, 10)));
  bool late = true;
  bool seen = false;
  Nanos took = 0;
  executor.run([&] {
    const auto event = std::make_shared<Event>(executor);
    const Nanos began = executor.clock().now();
    late = event->wait_for(1000);
    const auto waiter = executor.start("waiter", [&] {
      event->wait();
      seen = event->is_set();
    });
    const auto another = executor.start("setter", [&] {
      executor.sleep_for(500);
      event->set();
    });
    waiter->join();
    another->join();
    took = executor.clock().now() - began;
  });
  REQUIRE_FALSE(late);
  REQUIRE(seen);
  REQUIRE(took == 1500);
}

}  // namespace
}  // namespace hexad::io
