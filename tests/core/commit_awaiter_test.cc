// co_await store.commit_async(...)
#include <atomic>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <coroutine>
#include <deque>
#include <mutex>
#include <thread>

#include "core/store.h"
#include "tests/core/store_fixture.h"
#include "tests/io/countdown.h"

namespace hexad::testing {
namespace {

using io::testing::Countdown;

// A coroutine that nobody waits for: it begins at once and its frame goes when it ends.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

Transaction put_of(const std::string& name, const std::string& value) {
  Transaction t;
  t.put(kDefaultCollection, name, value);
  return t;
}

// Where a story plays, and what is left of it.
struct Stage {
  StoreFixture fixture;
  Store store = fixture.open();
  Countdown done{fixture.memory.executor(), 1};
  std::vector<Lsn> lsns;
  std::optional<ErrorCode> code;
  std::thread::id thread;
};

TEST_CASE("commit_async: one commit after the other, in the order of a story") {
  Stage stage;
  const auto story = [](Stage& on) -> Detached {
    for (int i = 0; i < 5; ++i) {
      const Result<Lsn> lsn = co_await on.store.commit_async(put_of("a", std::to_string(i)));
      if (!lsn.ok()) break;
      on.lsns.push_back(*lsn);
      if (get(on.store, "a") != std::to_string(i)) on.code = ErrorCode::kCorruption;
    }
    on.done.count_down();
  };
  story(stage);
  stage.done.wait();
  REQUIRE(stage.code == std::nullopt);
  REQUIRE(stage.lsns.size() == 5);
  REQUIRE(std::is_sorted(stage.lsns.begin(), stage.lsns.end()));
  REQUIRE(stage.store.status().last_lsn >= stage.lsns.back());
}

TEST_CASE("commit_async: errors come as values") {
  Stage stage;
  REQUIRE(put(stage.store, "a", "1").ok());
  const auto story = [](Stage& on) -> Detached {
    Transaction t = put_of("a", "2");
    t.expect_absent(kDefaultCollection, "a");
    on.code = code_of(co_await on.store.commit_async(std::move(t)));
    on.done.count_down();
  };
  story(stage);
  stage.done.wait();
  REQUIRE(stage.code == ErrorCode::kConflict);
  REQUIRE(get(stage.store, "a") == "1");
}

TEST_CASE("commit_async: buffered ones are visible when the coroutine goes on") {
  Stage stage;
  const auto story = [](Stage& on) -> Detached {
    for (int i = 0; i < 20; ++i) {
      const std::string value = noise(3000, i);
      const Result<Lsn> lsn =
          co_await on.store.commit_async(put_of("a", value), {Durability::kBuffered});
      if (!lsn.ok() || get(on.store, "a") != value) on.code = ErrorCode::kCorruption;
    }
    on.done.count_down();
  };
  story(stage);
  stage.done.wait();
  REQUIRE(stage.code == std::nullopt);
  REQUIRE(counter(stage.store, "txc_buffered_count") == 20);
}

// The loop of an application: coroutines go on here, on one thread.
class Loop {
 public:
  ResumeOn hook() {
    return [this](std::coroutine_handle<> coroutine) {
      const std::lock_guard<std::mutex> lock(mutex_);
      ready_.push_back(coroutine);
      changed_.notify_all();
    };
  }
  void run_one() {
    std::coroutine_handle<> next;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return !ready_.empty(); });
      next = ready_.front();
      ready_.pop_front();
    }
    next.resume();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::coroutine_handle<>> ready_;
};

TEST_CASE("commit_async: goes on where the hook takes it") {
  Stage stage;
  Loop loop;
  int rounds = 0;
  const auto story = [](Stage& on, Loop& in, int& round) -> Detached {
    for (; round < 3; ++round) {
      const Result<Lsn> lsn = co_await on.store.commit_async(put_of("a", "x"), {}, in.hook());
      if (lsn.ok()) on.lsns.push_back(*lsn);
      on.thread = std::this_thread::get_id();
    }
  };
  story(stage, loop, rounds);
  while (rounds < 3) loop.run_one();
  REQUIRE(stage.lsns.size() == 3);
  REQUIRE(stage.thread == std::this_thread::get_id());
}

TEST_CASE("commit_async: many coroutines at once") {
  StoreFixture fixture;
  Store store = fixture.open(Access::kReadWrite, busy_runtime());
  constexpr int kCoroutines = 32;
  constexpr int kRounds = 20;
  Countdown done(fixture.memory.executor(), kCoroutines);
  std::atomic<int> wrong{0};
  const auto story = [](Store& s, int number, std::atomic<int>& bad, Countdown& latch) -> Detached {
    const std::string name = "n" + std::to_string(number);
    for (int round = 0; round < kRounds; ++round) {
      const std::string value = noise(200 + 300 * static_cast<std::size_t>(round), number);
      const Durability durability = round % 3 == 0 ? Durability::kBuffered : Durability::kDurable;
      const Result<Lsn> lsn = co_await s.commit_async(put_of(name, value), {durability});
      if (!lsn.ok() || get(s, name) != value) ++bad;
    }
    latch.count_down();
  };
  for (int i = 0; i < kCoroutines; ++i) story(store, i, wrong, done);
  done.wait();
  REQUIRE(wrong == 0);
  REQUIRE(store.close().ok());
}

}  // namespace
}  // namespace hexad::testing
