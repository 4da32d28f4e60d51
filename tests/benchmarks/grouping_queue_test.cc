#include "benchmarks/peers/grouping_queue.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <set>
#include <thread>

using namespace hexad;
using namespace hexad::bench;

TEST_CASE("grouping queue: a change that comes alone is committed alone") {
  std::vector<std::string> committed;
  GroupingQueue queue([&](const std::vector<Change>& changes) {
    REQUIRE(changes.size() == 1);
    committed.push_back(*changes[0].name);
  });
  const std::string a = "a";
  const std::string b = "b";
  queue.run({&a, {}, false});
  queue.run({&b, {}, true});
  CHECK(committed == std::vector<std::string>{"a", "b"});
}

TEST_CASE("grouping queue: every change is in one commit when its caller goes on") {
  constexpr int kThreads = 8;
  constexpr int kChanges = 200;
  std::set<std::string> committed;  // by one thread at a time, which the queue promises
  std::atomic<int> inside{0};
  std::atomic<bool> wrong{false};
  GroupingQueue queue([&](const std::vector<Change>& changes) {
    if (inside.fetch_add(1) != 0) wrong = true;
    for (const Change& change : changes) {
      if (!committed.insert(*change.name).second) wrong = true;
    }
    inside.fetch_sub(1);
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kChanges; ++i) {
        const std::string name = std::to_string(t) + "/" + std::to_string(i);
        queue.run({&name, {}, false});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_FALSE(wrong);
  CHECK(committed.size() == kThreads * kChanges);
}
