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

namespace hexad::testing {
namespace {

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

class Latch {
 public:
  explicit Latch(int count) : count_(count) {}
  void count_down() {
    const std::lock_guard<std::mutex> lock(mutex_);
    --count_;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_;
};

Transaction put_of(const std::string& name, const std::string& value) {
  Transaction t;
  t.put(kDefaultCollection, name, value);
  return t;
}

struct Outcome {
  std::vector<Lsn> lsns;
  std::optional<ErrorCode> code;
  std::thread::id thread;
};

TEST_CASE("commit_async: one commit after the other, in the order of a story") {
  StoreFixture fixture;
  Store store = fixture.open();
  Latch done(1);
  Outcome outcome;
  const auto story = [](Store& s, Outcome& out, Latch& latch) -> Detached {
    for (int i = 0; i < 5; ++i) {
      const Result<Lsn> lsn = co_await s.commit_async(put_of("a", std::to_string(i)));
      if (!lsn.ok()) break;
      out.lsns.push_back(*lsn);
      if (get(s, "a") != std::to_string(i)) out.code = ErrorCode::kCorruption;
    }
    latch.count_down();
  };
  story(store, outcome, done);
  done.wait();
  REQUIRE(outcome.code == std::nullopt);
  REQUIRE(outcome.lsns.size() == 5);
  REQUIRE(std::is_sorted(outcome.lsns.begin(), outcome.lsns.end()));
  REQUIRE(store.status().last_lsn >= outcome.lsns.back());
}

TEST_CASE("commit_async: errors come as values") {
  StoreFixture fixture;
  Store store = fixture.open();
  REQUIRE(put(store, "a", "1").ok());
  Latch done(1);
  Outcome outcome;
  const auto story = [](Store& s, Outcome& out, Latch& latch) -> Detached {
    Transaction t = put_of("a", "2");
    t.expect_absent(kDefaultCollection, "a");
    out.code = code_of(co_await s.commit_async(std::move(t)));
    latch.count_down();
  };
  story(store, outcome, done);
  done.wait();
  REQUIRE(outcome.code == ErrorCode::kConflict);
  REQUIRE(get(store, "a") == "1");
}

TEST_CASE("commit_async: buffered ones are visible when the coroutine goes on") {
  StoreFixture fixture;
  Store store = fixture.open();
  Latch done(1);
  Outcome outcome;
  const auto story = [](Store& s, Outcome& out, Latch& latch) -> Detached {
    for (int i = 0; i < 20; ++i) {
      const std::string value = noise(3000, i);
      const Result<Lsn> lsn = co_await s.commit_async(put_of("a", value), {Durability::kBuffered});
      if (!lsn.ok() || get(s, "a") != value) out.code = ErrorCode::kCorruption;
    }
    latch.count_down();
  };
  story(store, outcome, done);
  done.wait();
  REQUIRE(outcome.code == std::nullopt);
  REQUIRE(counter(store, "txc_buffered_count") == 20);
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
  StoreFixture fixture;
  Store store = fixture.open();
  Loop loop;
  Outcome outcome;
  int rounds = 0;
  const auto story = [](Store& s, Loop& on, Outcome& out, int& round) -> Detached {
    for (; round < 3; ++round) {
      const Result<Lsn> lsn = co_await s.commit_async(put_of("a", "x"), {}, on.hook());
      if (lsn.ok()) out.lsns.push_back(*lsn);
      out.thread = std::this_thread::get_id();
    }
  };
  story(store, loop, outcome, rounds);
  while (rounds < 3) loop.run_one();
  REQUIRE(outcome.lsns.size() == 3);
  REQUIRE(outcome.thread == std::this_thread::get_id());
}

TEST_CASE("commit_async: many coroutines at once") {
  StoreFixture fixture;
  Store store = fixture.open(Access::kReadWrite, busy_runtime());
  constexpr int kCoroutines = 32;
  constexpr int kRounds = 20;
  Latch done(kCoroutines);
  std::atomic<int> wrong{0};
  const auto story = [](Store& s, int number, std::atomic<int>& bad, Latch& latch) -> Detached {
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
