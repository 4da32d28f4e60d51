#include "core/commit/lsn_waiters.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "io/sim/sim_executor.h"

namespace hexad::core {
namespace {

using Until = LsnWaiters::Until;
using Woken = LsnWaiters::Woken;

// Fibers that sleep, and in which order they woke up.
class Dormitory {
 public:
  explicit Dormitory(io::SimExecutor& executor)
      : executor_(executor), mutex_(executor), waiters_(executor) {}

  void send_to_sleep(Lsn lsn, Until until = Until::kAnswered) {
    const std::size_t before = size();
    threads_.push_back(executor_.start("sleeper", [this, lsn, until] {
      LsnWaiters::Woken why{};
      {
        io::Lock lock(mutex_);
        why = waiters_.sleep(lock, lsn, until);
      }
      const io::Lock lock(mutex_);
      woken_.push_back(lsn);
      if (why == LsnWaiters::Woken::kReached) ++reached_;
    }));
    while (size() == before) executor_.sleep_for(1);
  }
  // What woke up when `wake` was called.
  template <typename Wake>
  std::vector<Lsn> after(Wake wake) {
    {
      LsnWaiters::WakeUp wake_up;
      const io::Lock lock(mutex_);
      woken_.clear();
      reached_ = 0;
      wake(waiters_, wake_up);
    }
    executor_.sleep_for(1000);
    const io::Lock lock(mutex_);
    std::vector<Lsn> woken = woken_;
    std::sort(woken.begin(), woken.end());
    return woken;
  }
  std::size_t size() {
    const io::Lock lock(mutex_);
    return waiters_.size();
  }
  // Of those who woke up: they know that their LSN has come.
  std::size_t reached() {
    const io::Lock lock(mutex_);
    return reached_;
  }
  void empty() {
    after([](LsnWaiters& waiters, LsnWaiters::WakeUp& wake_up) { waiters.wake_all(wake_up); });
    for (const auto& thread : threads_) thread->join();
  }

 private:
  io::SimExecutor& executor_;
  io::Mutex mutex_;
  LsnWaiters waiters_;
  std::vector<Lsn> woken_;
  std::size_t reached_ = 0;
  std::vector<std::unique_ptr<io::Thread>> threads_;
};

TEST_CASE("lsn_waiters: who sleeps for a time leaves when it is over, or when woken before") {
  io::SimExecutor executor(1);
  std::vector<io::Nanos> took;
  std::vector<Woken> why;
  std::size_t left = 0;
  executor.run([&] {
    io::Mutex mutex(executor);
    LsnWaiters waiters(executor);
    const auto sleep = [&](io::Nanos limit) {
      const io::Nanos began = executor.clock().now();
      {
        io::Lock lock(mutex);
        why.push_back(waiters.sleep_for(lock, 5, Until::kDurable, limit));
      }
      const io::Lock lock(mutex);
      left += waiters.size();
      took.push_back(executor.clock().now() - began);
    };
    sleep(1000);
    sleep(0);
    const auto waker = executor.start("waker", [&] {
      executor.sleep_for(300);
      LsnWaiters::WakeUp wake_up;
      const io::Lock lock(mutex);
      waiters.wake_reached(5, 5, wake_up);
    });
    sleep(1000);
    waker->join();
  });
  REQUIRE(left == 0);
  REQUIRE(took[0] == 1000);
  REQUIRE(took[1] == 0);
  REQUIRE(took[2] == 300);
  REQUIRE(why == std::vector<Woken>{Woken::kTimeOver, Woken::kTimeOver, Woken::kReached});
}

// What it was woken for nobody else would do.
TEST_CASE("lsn_waiters: WU1 who has been woken hears of it, though its time is over before") {
  io::SimExecutor executor(1);
  std::optional<Woken> why;
  io::Nanos took = 0;
  executor.run([&] {
    io::Mutex mutex(executor);
    LsnWaiters waiters(executor);
    const io::Nanos began = executor.clock().now();
    const auto sleeper = executor.start("sleeper", [&] {
      io::Lock lock(mutex);
      why = waiters.sleep_for(lock, 5, Until::kDurable, 1000);
      took = executor.clock().now() - began;
    });
    executor.sleep_for(500);
    {
      LsnWaiters::WakeUp wake_up;
      {
        const io::Lock lock(mutex);
        waiters.wake_one(5, wake_up);
      }
      executor.sleep_for(2000);
    }
    sleeper->join();
  });
  REQUIRE(why == Woken::kLook);
  REQUIRE(took == 2500);
}

TEST_CASE("lsn_waiters: WU2 nobody is told before the lock is let go of") {
  io::SimExecutor executor(GENERATE(range(1, 20)));
  bool held = false;
  bool met_it = false;
  executor.run([&] {
    io::Mutex mutex(executor);
    LsnWaiters waiters(executor);
    std::vector<std::unique_ptr<io::Thread>> threads;
    for (int i = 0; i < 4; ++i) {
      threads.push_back(executor.start("sleeper", [&] {
        io::Lock lock(mutex);
        waiters.sleep(lock, 5, Until::kAnswered);
        met_it = met_it || held;
      }));
    }
    executor.sleep_for(1000);
    {
      LsnWaiters::WakeUp wake_up;
      const io::Lock lock(mutex);
      held = true;
      waiters.wake_reached(5, 5, wake_up);
      executor.sleep_for(1000);
      held = false;
    }
    for (const auto& thread : threads) thread->join();
  });
  REQUIRE_FALSE(met_it);
}

TEST_CASE("lsn_waiters: those wake up whose LSN has come, the others sleep on") {
  io::SimExecutor executor(GENERATE(range(1, 5)));
  executor.run([&] {
    Dormitory sleepers(executor);
    for (const Lsn lsn : {7, 3, 5, 5, 9}) sleepers.send_to_sleep(lsn);
    CHECK(sleepers.after([](auto& w, auto& up) { w.wake_reached(2, 2, up); }).empty());
    CHECK(sleepers.after([](auto& w, auto& up) { w.wake_reached(5, 0, up); }) ==
          std::vector<Lsn>{3, 5, 5});
    CHECK(sleepers.reached() == 3);
    CHECK(sleepers.size() == 2);
    CHECK(sleepers.after([](auto& w, auto& up) { w.wake_reached(9, 9, up); }) ==
          std::vector<Lsn>{7, 9});
    CHECK(sleepers.size() == 0);
    sleepers.empty();
  });
}

TEST_CASE("lsn_waiters: who waits for all copies is not woken by an answer") {
  io::SimExecutor executor(1);
  executor.run([&] {
    Dormitory sleepers(executor);
    sleepers.send_to_sleep(3, Until::kDurable);
    sleepers.send_to_sleep(4, Until::kAnswered);
    sleepers.send_to_sleep(5, Until::kDurable);
    CHECK(sleepers.after([](auto& w, auto& up) { w.wake_reached(5, 2, up); }) ==
          std::vector<Lsn>{4});
    CHECK(sleepers.after([](auto& w, auto& up) { w.wake_reached(5, 3, up); }) ==
          std::vector<Lsn>{3});
    CHECK(sleepers.after([](auto& w, auto& up) { w.wake_reached(5, 5, up); }) ==
          std::vector<Lsn>{5});
    sleepers.empty();
  });
}

TEST_CASE("lsn_waiters: one is woken for a group, the earliest that it is for") {
  io::SimExecutor executor(2);
  executor.run([&] {
    Dormitory sleepers(executor);
    for (const Lsn lsn : {4, 8, 6}) sleepers.send_to_sleep(lsn);
    CHECK(sleepers.after([](auto& w, auto& up) { w.wake_one(5, up); }) == std::vector<Lsn>{6});
    CHECK(sleepers.reached() == 0);
    CHECK(sleepers.after([](auto& w, auto& up) { w.wake_one(9, up); }).empty());
    CHECK(sleepers.after([](auto& w, auto& up) { w.wake_all(up); }) == std::vector<Lsn>{4, 8});
    sleepers.empty();
  });
}

}  // namespace
}  // namespace hexad::core
