#include "tools/import_export/in_order.h"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

namespace hexad::tools {
namespace {

// Lets threads through once it is open.
class Gate {
 public:
  explicit Gate(io::Executor& executor) : mutex_(executor), changed_(executor) {}
  void open() {
    const io::Lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    io::Lock lock(mutex_);
    changed_.wait(lock, [&] { return open_; });
  }

 private:
  io::Mutex mutex_;
  io::CondVar changed_;
  bool open_ = false;
};

TEST_CASE("in_order: what tasks give comes in the order of the tasks, whichever ends first") {
  const auto executor = io::make_thread_executor(2);
  Gate last_has_run(*executor);
  InOrder<std::unique_ptr<int>> results(*executor);
  constexpr int kTasks = 100;
  for (int i = 0; i < kTasks; ++i) {
    results.add([&last_has_run, i] {
      if (i == 0) last_has_run.pass();
      if (i == kTasks - 1) last_has_run.open();
      return std::make_unique<int>(i);
    });
  }
  CHECK(results.size() == kTasks);
  for (int i = 0; i < kTasks; ++i) REQUIRE(*results.take() == i);
  CHECK(results.empty());
  // It can be used on.
  results.add([] { return std::make_unique<int>(7); });
  CHECK(*results.take() == 7);
}

TEST_CASE("in_order: one that is dropped waits for what has begun, and runs nothing afterwards") {
  auto executor = io::make_thread_executor(1);
  auto threads = io::make_thread_executor(1);
  Gate begun(*executor);
  Gate may_end(*executor);
  std::vector<int> ran;  // by the only thread of the pool
  auto results = std::make_unique<InOrder<int>>(*executor);
  results->add([&] {
    begun.open();
    may_end.pass();
    ran.push_back(0);
    return 0;
  });
  for (int i = 1; i < 100; ++i) {
    results->add([&ran, i] {
      ran.push_back(i);
      return i;
    });
  }
  begun.pass();
  const auto opener = threads->start("opener", [&] { may_end.open(); });
  results.reset();  // none of its tasks is on the way any more
  const std::vector<int> before = ran;
  executor.reset();
  opener->join();
  REQUIRE(ran == before);
  for (std::size_t i = 0; i < ran.size(); ++i) REQUIRE(ran[i] == static_cast<int>(i));
  REQUIRE_FALSE(ran.empty());
}

}  // namespace
}  // namespace hexad::tools
