#include "core/commit/in_flight_budget.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "io/recall.h"
#include "io/sim/sim_executor.h"

namespace hexad::core {
namespace {

constexpr io::Nanos kSecond = 1'000'000'000;

struct World {
  io::SimExecutor sim{3};
  std::function<bool()> relieve = [] { return false; };
  InFlightBudget budget{sim, 100, [this] { return relieve(); }};
  std::string order;

  // A thread that takes so much, keeps it so long, and says when it got it.
  std::unique_ptr<io::Thread> taker(char name, std::uint64_t bytes, io::Nanos keeps) {
    return sim.start("taker", [this, name, bytes, keeps] {
      const std::shared_ptr<void> held = budget.take(bytes).value();
      order += name;
      sim.sleep_for(keeps);
    });
  }
};

TEST_CASE("in-flight budget: what fits is admitted, the rest when there is room") {
  World w;
  w.sim.run([&] {
    std::shared_ptr<void> first = w.budget.take(60).value();
    const std::shared_ptr<void> second = w.budget.take(40).value();
    const auto third = w.taker('c', 10, 0);
    w.sim.sleep_for(kSecond);
    CHECK(w.order.empty());
    std::shared_ptr<void> copy = first;
    first.reset();
    w.sim.sleep_for(kSecond);
    CHECK(w.order.empty());  // until the last copy goes
    copy.reset();
    third->join();
    CHECK(w.order == "c");
  });
}

TEST_CASE("in-flight budget: one that is larger than all of it passes alone") {
  World w;
  w.sim.run([&] {
    std::shared_ptr<void> small = w.budget.take(1).value();
    const auto large = w.taker('L', 1000, kSecond);
    w.sim.sleep_for(kSecond);
    CHECK(w.order.empty());
    small.reset();
    large->join();
    CHECK(w.order == "L");
  });
}

TEST_CASE("in-flight budget: nobody is passed") {
  World w;
  w.sim.run([&] {
    std::shared_ptr<void> held = w.budget.take(90).value();
    const auto large = w.taker('L', 100, kSecond);
    w.sim.sleep_for(kSecond / 100);
    std::vector<std::unique_ptr<io::Thread>> small;
    for (int i = 0; i < 5; ++i) small.push_back(w.taker('s', 5, kSecond));
    w.sim.sleep_for(kSecond);
    CHECK(w.order.empty());  // five small ones would fit
    held.reset();
    large->join();
    for (const auto& one : small) one->join();
    CHECK(w.order == "Lsssss");
  });
}

TEST_CASE("in-flight budget: who waits makes durable what holds it") {
  World w;
  std::shared_ptr<void> buffered;
  int asked = 0;
  w.relieve = [&] {
    ++asked;
    if (buffered.use_count() == 0) return false;  // it points to nothing either way
    buffered.reset();
    return true;
  };
  w.sim.run([&] {
    buffered = w.budget.take(100).value();
    const std::shared_ptr<void> next = w.budget.take(50).value();
    CHECK(asked == 1);
  });
}

class Wanted final : public io::Recall {
 private:
  bool is_wanted() noexcept override { return true; }
};

TEST_CASE("in-flight budget: who is called back takes nothing, and holds nobody up") {
  World w;
  const auto leaver = [&] {
    return w.sim.start("leaver", [&] {
      Wanted recall;
      const io::Recall::Scope scope(recall);
      const io::Nanos began = w.sim.clock().now();
      const Result<std::shared_ptr<void>> held = w.budget.take(50);
      CHECK_FALSE(held.ok());
      CHECK(held.status().error().code == ErrorCode::kUnavailable);
      CHECK(w.sim.clock().now() - began < kSecond / 2);
    });
  };
  w.sim.run([&] {
    std::shared_ptr<void> held = w.budget.take(90).value();
    // Both whose turn is next, and who comes behind another one.
    std::vector<std::unique_ptr<io::Thread>> threads;
    threads.push_back(leaver());
    w.sim.sleep_for(kSecond / 100);
    threads.push_back(w.taker('a', 60, kSecond));
    w.sim.sleep_for(kSecond / 100);
    threads.push_back(leaver());
    threads.push_back(leaver());
    w.sim.sleep_for(kSecond / 100);
    threads.push_back(w.taker('b', 40, kSecond));
    w.sim.sleep_for(kSecond);
    CHECK(w.order.empty());
    held.reset();
    for (const auto& thread : threads) thread->join();
    CHECK(w.order == "ab");
    held = w.budget.take(100).value();
  });
}

}  // namespace
}  // namespace hexad::core
