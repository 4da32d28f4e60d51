#include "io/sim/sim_executor.h"

#include <catch2/catch.hpp>
#include <deque>
#include <set>

using namespace hexad::io;

namespace {

constexpr Nanos kSecond = 1'000'000'000;

// Threads that add to a log under a lock; the order they come in is the seed's choice.
std::string race(std::uint64_t seed, std::uint64_t* hash = nullptr) {
  SimExecutor executor(seed);
  std::string log;
  executor.run([&] {
    Mutex mutex(executor);
    std::vector<std::unique_ptr<Thread>> threads;
    for (char name = 'a'; name < 'e'; ++name) {
      threads.push_back(executor.start(std::string(1, name), [&, name] {
        for (int i = 0; i < 3; ++i) {
          const Lock lock(mutex);
          log += name;
        }
      }));
    }
    for (auto& thread : threads) thread->join();
  });
  if (hash != nullptr) *hash = executor.trace_hash();
  return log;
}

}  // namespace

TEST_CASE("sim_executor: a seed decides the order, and gives the same one every time") {
  std::set<std::string> orders;
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::uint64_t first_hash = 0;
    std::uint64_t second_hash = 0;
    const std::string order = race(seed, &first_hash);
    REQUIRE(order.size() == 12);
    REQUIRE(race(seed, &second_hash) == order);
    REQUIRE(first_hash == second_hash);
    orders.insert(order);
    hashes.insert(first_hash);
  }
  REQUIRE(orders.size() > 40);
  REQUIRE(hashes.size() > 40);
}

TEST_CASE("sim_executor: the trace of a seed is the same in every build mode") {
  std::uint64_t hash = 0;
  race(7, &hash);
  REQUIRE(hash == 0x1a965eae5b62a1f8);
}

TEST_CASE("sim_executor: sleeping takes virtual time and no other") {
  SimExecutor executor(1);
  std::vector<int> order;
  executor.run([&] {
    const Nanos start = executor.clock().now();
    auto late = executor.start("late", [&] {
      executor.sleep_for(3600 * kSecond);
      order.push_back(2);
    });
    auto early = executor.start("early", [&] {
      executor.sleep_for(kSecond);
      order.push_back(1);
    });
    late->join();
    early->join();
    REQUIRE(executor.clock().now() - start == 3600 * kSecond);
  });
  REQUIRE(order == std::vector<int>{1, 2});
}

TEST_CASE("sim_executor: the wall clock jumps without the steady one") {
  SimExecutor executor(1);
  const Nanos steady = executor.clock().now();
  const Nanos wall = executor.clock().wall_time();
  executor.jump_wall_clock(-86400 * kSecond);
  REQUIRE(executor.clock().now() == steady);
  REQUIRE(wall - executor.clock().wall_time() == 86400 * kSecond);
}

TEST_CASE("sim_executor: condition variables lose no wake-up under any seed") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    SimExecutor executor(seed);
    int taken = 0;
    executor.run([&] {
      Mutex mutex(executor);
      CondVar ready(executor);
      std::deque<int> queue;
      std::vector<std::unique_ptr<Thread>> threads;
      for (int t = 0; t < 3; ++t) {
        threads.push_back(executor.start("consumer", [&] {
          for (int i = 0; i < 4; ++i) {
            Lock lock(mutex);
            ready.wait(lock, [&] { return !queue.empty(); });
            queue.pop_front();
            ++taken;
          }
        }));
      }
      for (int i = 0; i < 12; ++i) {
        executor.post([&] {
          {
            const Lock lock(mutex);
            queue.push_back(1);
          }
          ready.notify_one();
        });
      }
      for (auto& thread : threads) thread->join();
    });
    REQUIRE(taken == 12);
  }
}

TEST_CASE("sim_executor: a wait with a limit ends by the limit or by a wake-up") {
  SimExecutor executor(3);
  executor.run([&] {
    Mutex mutex(executor);
    CondVar ready(executor);
    {
      Lock lock(mutex);
      const Nanos start = executor.clock().now();
      REQUIRE_FALSE(ready.wait_for(lock, kSecond));
      REQUIRE(executor.clock().now() - start == kSecond);
    }
    auto waker = executor.start("waker", [&] {
      executor.sleep_for(kSecond / 2);
      const Lock lock(mutex);
      ready.notify_all();
    });
    Lock lock(mutex);
    const Nanos start = executor.clock().now();
    REQUIRE(ready.wait_for(lock, kSecond));
    REQUIRE(executor.clock().now() - start == kSecond / 2);
    lock.unlock();
    waker->join();
  });
}

TEST_CASE("sim_executor: a mutex excludes although its holder sleeps") {
  SimExecutor executor(4);
  int inside = 0;
  executor.run([&] {
    Mutex mutex(executor);
    std::vector<std::unique_ptr<Thread>> threads;
    for (int t = 0; t < 4; ++t) {
      threads.push_back(executor.start("holder", [&] {
        const Lock lock(mutex);
        REQUIRE(++inside == 1);
        REQUIRE_FALSE(mutex.try_lock());
        executor.sleep_for(kSecond);
        --inside;
      }));
    }
    for (auto& thread : threads) thread->join();
    REQUIRE(mutex.try_lock());
    mutex.unlock();
  });
}

TEST_CASE("sim_executor: events run at their time, in the order of scheduling") {
  SimExecutor executor(5);
  std::vector<int> order;
  executor.run([&] {
    const Nanos now = executor.clock().now();
    executor.schedule(now + 20, [&] { order.push_back(3); });
    executor.schedule(now + 10, [&] { order.push_back(1); });
    executor.schedule(now + 10, [&] { order.push_back(2); });
    executor.schedule(now - 10, [&] { order.push_back(0); });
    executor.sleep_for(30);
  });
  REQUIRE(order == std::vector<int>{0, 1, 2, 3});
}

TEST_CASE("sim_executor: a deadlock is explained by the names of those who wait") {
  SimExecutor executor(6);
  Mutex mutex(executor);
  CondVar never(executor);
  const std::string stuck = executor.run_or_explain([&] {
    auto thread = executor.start("forgotten", [&] {
      Lock lock(mutex);
      never.wait(lock);
    });
    thread->join();
  });
  REQUIRE(stuck.find("deadlock") != std::string::npos);
  REQUIRE(stuck.find("forgotten waits on") != std::string::npos);
  REQUIRE(stuck.find("main waits on") != std::string::npos);
}

TEST_CASE("sim_executor: endless turns are found by the step limit") {
  SimExecutor executor(6);
  executor.set_step_limit(1000);
  REQUIRE(executor
              .run_or_explain([&] {
                for (;;) executor.sleep_for(1);
              })
              .find("too many turns") != std::string::npos);
}

TEST_CASE("sim_executor: what a task throws leaves run") {
  SimExecutor executor(7);
  REQUIRE_THROWS_AS(executor.run([&] {
    executor.post([] { throw 5; });
    executor.sleep_for(1);
  }),
                    int);
}

TEST_CASE("sim_executor: tasks left behind run before the executor is gone") {
  int ran = 0;
  {
    SimExecutor executor(8);
    executor.run([&] {
      executor.post([&] {
        executor.sleep_for(kSecond);
        ++ran;
        executor.post([&] { ++ran; });
      });
    });
    REQUIRE(ran == 0);
  }
  REQUIRE(ran == 2);
}

TEST_CASE("sim_executor: many fibers share the stacks of many simulations") {
  const auto stacks = std::make_shared<FiberStacks>();
  int ran = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SimExecutor executor(seed, stacks);
    executor.run([&] {
      for (int i = 0; i < 20; ++i) executor.post([&] { ++ran; });
      executor.sleep_for(1);
    });
  }
  REQUIRE(ran == 2000);
}
