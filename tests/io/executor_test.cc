// io/clock.h is interface alone: the real clock is tested here, the simulated one in
// sim_executor_test.cc.
#include "io/executor.h"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <deque>
#include <fstream>

using namespace hexad::io;

namespace {
constexpr Nanos kMillisecond = 1'000'000;
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they reserve terabytes
TEST_CASE("executor: where the system refuses threads, those of the pool that there are do all") {
  const auto executor = make_thread_executor(8);
  REQUIRE(executor->start_pool().ok());
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_AS, &before) == 0);
  rlimit limited = before;  // no room for a stack
  limited.rlim_cur = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + (2u << 20);
  REQUIRE(::setrlimit(RLIMIT_AS, &limited) == 0);
  std::atomic<int> ran{0};
  for (int i = 0; i < 100; ++i) executor->post([&] { ++ran; });
  const auto refused = executor->try_start("one more", [&] { ran = -1000; });
  REQUIRE(::setrlimit(RLIMIT_AS, &before) == 0);
  REQUIRE_FALSE(refused.ok());
  std::atomic<bool> last{false};
  executor->post([&] {
    last = true;
    last.notify_all();
  });
  last.wait(false);
  while (ran != 100) executor->sleep_for(kMillisecond);
}
#endif

TEST_CASE("executor: started threads run and are joined") {
  const auto executor = make_thread_executor(1);
  std::atomic<int> ran{0};
  std::vector<std::unique_ptr<Thread>> threads;
  for (int i = 0; i < 4; ++i) {
    threads.push_back(executor->start("a rather long thread name", [&] { ++ran; }));
  }
  for (auto& thread : threads) thread->join();
  REQUIRE(ran == 4);
  REQUIRE(executor->fibers() == nullptr);
}

TEST_CASE("executor: every posted task has run when the executor is gone, tasks of tasks too") {
  for (const int pool : {1, 3}) {
    std::atomic<int> ran{0};
    {
      const auto executor = make_thread_executor(pool);
      for (int i = 0; i < 100; ++i) {
        executor->post([&] {
          ++ran;
          executor->post([&] { ++ran; });
        });
      }
    }
    REQUIRE(ran == 200);
  }
}

TEST_CASE("executor: posted tasks run at once on as many threads as the pool has") {
  const auto executor = make_thread_executor(2);
  Mutex mutex(*executor);
  CondVar met(*executor);
  int present = 0;
  for (int i = 0; i < 2; ++i) {
    executor->post([&] {
      Lock lock(mutex);
      ++present;
      met.notify_all();
      met.wait(lock, [&] { return present >= 2; });
      ++present;
      met.notify_all();
    });
  }
  Lock lock(mutex);
  met.wait(lock, [&] { return present == 4; });
}

TEST_CASE("executor: the clock moves on while sleeping") {
  const auto executor = make_thread_executor(1);
  const Nanos before = executor->clock().now();
  executor->sleep_for(2 * kMillisecond);
  REQUIRE(executor->clock().now() - before >= 2 * kMillisecond);
  REQUIRE(executor->clock().wall_time() > 1'600'000'000'000'000'000);
}

TEST_CASE("mutex: excludes, and try_lock says when it is held") {
  const auto executor = make_thread_executor(1);
  Mutex mutex(*executor);
  int counter = 0;
  std::vector<std::unique_ptr<Thread>> threads;
  for (int t = 0; t < 4; ++t) {
    threads.push_back(executor->start("counter", [&] {
      for (int i = 0; i < 1000; ++i) {
        const Lock lock(mutex);
        ++counter;
      }
    }));
  }
  for (auto& thread : threads) thread->join();
  REQUIRE(counter == 4000);
  REQUIRE(mutex.try_lock());
  executor->start("other", [&] { REQUIRE_FALSE(mutex.try_lock()); })->join();
  mutex.unlock();
}

TEST_CASE("condvar: hands items from producers to consumers and loses none") {
  const auto executor = make_thread_executor(1);
  Mutex mutex(*executor);
  CondVar ready(*executor);
  std::deque<int> queue;
  std::atomic<int> sum{0};
  std::vector<std::unique_ptr<Thread>> threads;
  for (int consumer = 0; consumer < 3; ++consumer) {
    threads.push_back(executor->start("consumer", [&] {
      for (int i = 0; i < 200; ++i) {
        Lock lock(mutex);
        ready.wait(lock, [&] { return !queue.empty(); });
        sum += queue.front();
        queue.pop_front();
      }
    }));
  }
  for (int producer = 0; producer < 2; ++producer) {
    threads.push_back(executor->start("producer", [&] {
      for (int i = 0; i < 300; ++i) {
        {
          const Lock lock(mutex);
          queue.push_back(1);
        }
        ready.notify_one();
      }
    }));
  }
  for (auto& thread : threads) thread->join();
  REQUIRE(sum == 600);
}

TEST_CASE("condvar: a wait with a limit ends at the limit or when woken") {
  const auto executor = make_thread_executor(1);
  Mutex mutex(*executor);
  CondVar ready(*executor);
  {
    Lock lock(mutex);
    const Nanos before = executor->clock().now();
    bool woken = true;
    while (woken) woken = ready.wait_for(lock, 3 * kMillisecond);
    REQUIRE(executor->clock().now() - before >= 3 * kMillisecond);
  }
  bool flag = false;
  const auto waker = executor->start("waker", [&] {
    const Lock lock(mutex);
    flag = true;
    ready.notify_all();
  });
  {
    Lock lock(mutex);
    while (!flag) REQUIRE(ready.wait_for(lock, 60'000 * kMillisecond));
  }
  waker->join();
}

TEST_CASE("mutex: a try with a limit ends at the limit, or has the lock") {
  const auto executor = make_thread_executor(1);
  Mutex mutex(*executor);
  REQUIRE(mutex.try_lock_for(kMillisecond));
  const auto other = executor->start("other", [&] {
    const Nanos before = executor->clock().now();
    REQUIRE_FALSE(mutex.try_lock_for(3 * kMillisecond));
    // By the wall clock, which the steady one may pass.
    REQUIRE(executor->clock().now() - before >= 2 * kMillisecond);
  });
  other->join();
  std::atomic<bool> waits{false};
  const auto third = executor->start("third", [&] {
    waits = true;
    while (!mutex.try_lock_for(1000 * kMillisecond)) {
    }
    mutex.unlock();
  });
  while (!waits) executor->sleep_for(kMillisecond);
  mutex.unlock();
  third->join();
  REQUIRE(mutex.try_lock_for(0));
  mutex.unlock();
}
