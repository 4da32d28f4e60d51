#include "core/clean/list_walk.h"

#include <catch2/catch.hpp>
#include <cstddef>
#include <string>

#include "core/clean/fragmented_lists.h"
#include "io/sim/sim_system.h"

namespace hexad::core {
namespace {

constexpr std::size_t kMost = 10;  // lists that are kept
constexpr int kLists = 25;         // that a walk meets, in steps of kStep
constexpr int kStep = 5;

// Full steps until there is no more to look at; kMaxSteps: there is no end. `gains`: of so many
// lists something is to be had.
constexpr int kMaxSteps = 1000;
int steps_to_the_end(io::Executor& executor, int gains) {
  FragmentedLists lists(executor, kMost);
  ListWalk walk;
  Lsn lsn = 1;
  for (int step = 0; step < kMaxSteps; ++step) {
    for (const FragmentedLists::Candidate& one : lists.best(kMost, 1024, 0).lists) {
      if (gains > 0) {
        --gains;
        walk.note_gain();
      }
      lists.forget(one.key, one.changed);
    }
    walk.maybe_again([&] { return lists.take_lost(); });
    if (walk.over()) return step;
    int at = walk.from().empty() ? 0 : std::stoi(walk.from());
    // As many as are let go of.
    for (const int end = at + kStep + static_cast<int>(kMost); at < end && at < kLists; ++at) {
      lists.note(std::to_string(at), {1000, 100}, lsn++);
    }
    walk.go_on_at(std::to_string(at));
    if (at == kLists) walk.end();
  }
  return kMaxSteps;
}

// KL6
TEST_CASE("list walk: it begins again while something comes back, and no more") {
  io::SimSystem system;
  system.run([&] {
    io::Executor& executor = system.executor();
    CHECK(steps_to_the_end(executor, 0) == 2);
    CHECK(steps_to_the_end(executor, 1) == 4);
    // Ten of each fifteen, and then the ten that are behind them.
    CHECK(steps_to_the_end(executor, 21) == 6);
  });
}

TEST_CASE("list walk: what was let go of is remembered until it counts") {
  ListWalk walk;
  int asked = 0;
  const auto lost = [&] {
    ++asked;
    return true;
  };
  walk.maybe_again(lost);
  walk.go_on_at("b");
  walk.end();
  walk.maybe_again(lost);
  CHECK(asked == 0);
  CHECK(walk.over());
  CHECK(walk.from() == "b");
  walk.note_gain();
  walk.maybe_again(lost);
  CHECK(asked == 1);
  CHECK_FALSE(walk.over());
  CHECK(walk.from().empty());
  walk.end();
  walk.maybe_again(lost);
  CHECK(asked == 1);
  CHECK(walk.over());
}

}  // namespace
}  // namespace hexad::core
