#include "io/sim/fiber.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <set>
#include <stdexcept>

#include "io/rng.h"

using namespace hexad;
using namespace hexad::io;

namespace {

// A fiber that its own task can name.
struct Lane {
  Lane(FiberStacks& stacks, std::function<void(Fiber&)> task)
      : fiber(stacks, [this, task = std::move(task)] { task(fiber); }) {}
  Fiber fiber;
};

// Recurses until `used` bytes of the stack are in use, and checks every frame on the way back.
// Returns the frames that were damaged.
int recurse(const char* top, std::size_t used, int level) {
  volatile char frame[256];
  std::memset(const_cast<char*>(frame), level & 127, sizeof frame);
  const char* const here = static_cast<const char*>(__builtin_frame_address(0));
  const bool deep_enough = here + used < top;
  const int below = deep_enough ? 0 : recurse(top, used, level + 1);
  return below + (frame[0] == (level & 127) && frame[255] == (level & 127) ? 0 : 1);
}

}  // namespace

TEST_CASE("fiber: it runs when resumed, stops where it suspends, and is finished once") {
  FiberStacks stacks;
  std::string text;
  Lane lane(stacks, [&](Fiber& self) {
    text += "a";
    self.suspend();
    text += "b";
    self.suspend();
    text += "c";
  });
  REQUIRE(text.empty());
  for (const char* expected : {"a", "ab"}) {
    lane.fiber.resume();
    REQUIRE(text == expected);
    REQUIRE_FALSE(lane.fiber.finished());
  }
  lane.fiber.resume();
  REQUIRE(text == "abc");
  REQUIRE(lane.fiber.finished());
}

TEST_CASE("fiber: what lives on its stack lives on while others run") {
  const std::uint64_t seed = 3;
  CAPTURE(seed);
  Rng rng(seed);
  FiberStacks stacks;
  constexpr int kFibers = 40;
  constexpr int kTurns = 25;
  std::vector<std::unique_ptr<Lane>> lanes;
  std::vector<std::uint64_t> sums(kFibers);
  for (std::uint64_t i = 0; i < kFibers; ++i) {
    lanes.push_back(std::make_unique<Lane>(stacks, [&, i](Fiber& self) {
      std::uint64_t locals[64] = {};
      Rng own(i);
      for (int turn = 0; turn < kTurns; ++turn) {
        const std::uint64_t place = own.below(64);
        locals[place] += own.next();
        self.suspend();
      }
      for (const std::uint64_t value : locals) sums[i] += value;
    }));
  }
  std::vector<int> left(kFibers, kTurns + 1);
  for (int turns = kFibers * (kTurns + 1); turns > 0;) {
    const std::uint64_t i = rng.below(kFibers);
    if (left[i] == 0) continue;
    lanes[i]->fiber.resume();
    --left[i];
    --turns;
    REQUIRE(lanes[i]->fiber.finished() == (left[i] == 0));
  }
  for (std::uint64_t i = 0; i < kFibers; ++i) {
    Rng own(i);
    std::uint64_t expected = 0;
    for (int turn = 0; turn < kTurns; ++turn) {
      own.below(64);
      expected += own.next();
    }
    REQUIRE(sums[i] == expected);
  }
}

TEST_CASE("fiber: what a task throws comes out of resume(), and the fiber is finished") {
  FiberStacks stacks;
  Lane lane(stacks, [](Fiber& self) {
    self.suspend();
    throw std::runtime_error("from inside");
  });
  lane.fiber.resume();
  REQUIRE_THROWS_WITH(lane.fiber.resume(), "from inside");
  REQUIRE(lane.fiber.finished());
}

TEST_CASE("fiber: each may catch what it throws itself, whoever ran in between") {
  FiberStacks stacks;
  std::string caught;
  const auto task = [&](const char* name) {
    return [&caught, name](Fiber& self) {
      for (int i = 0; i < 3; ++i) {
        try {
          self.suspend();
          throw std::runtime_error(name);
        } catch (const std::runtime_error& error) {
          caught += error.what();
        }
      }
    };
  };
  Lane a(stacks, task("a"));
  Lane b(stacks, task("b"));
  while (!a.fiber.finished()) {
    a.fiber.resume();
    b.fiber.resume();
  }
  REQUIRE(caught == "ababab");
}

TEST_CASE("fiber: the task's captures are gone when it has returned, not when the fiber is") {
  FiberStacks stacks;
  auto owned = std::make_shared<int>(1);
  std::weak_ptr<int> seen = owned;
  Fiber fiber(stacks, [owned = std::move(owned)] {});
  REQUIRE_FALSE(seen.expired());
  fiber.resume();
  REQUIRE(seen.expired());
}

TEST_CASE("fiber: one that is dropped in the middle destroys nothing of its stack") {
  FiberStacks stacks;
  bool destroyed = false;
  struct Witness {
    bool& destroyed;
    ~Witness() { destroyed = true; }
  };
  {
    Lane lane(stacks, [&](Fiber& self) {
      const Witness witness{destroyed};
      self.suspend();
    });
    lane.fiber.resume();
  }
  REQUIRE_FALSE(destroyed);
}

TEST_CASE("fiber: nearly the whole stack can be used, again and again") {
  FiberStacks stacks;
  for (int round = 0; round < 3; ++round) {
    int damaged = -1;
    Fiber fiber(stacks, [&] {
      const auto* top = static_cast<const char*>(__builtin_frame_address(0));
      damaged = recurse(top, FiberStacks::kSize / 8 * 7, 0);
    });
    fiber.resume();
    REQUIRE(damaged == 0);
  }
}

TEST_CASE("fiber: stacks are aligned, apart from one another and used again") {
  FiberStacks stacks;
  std::set<std::byte*> taken;
  for (int i = 0; i < 4; ++i) {
    std::byte* const stack = stacks.take();
    REQUIRE(reinterpret_cast<std::uintptr_t>(stack) % 4096 == 0);
    for (std::byte* other : taken) {
      const std::ptrdiff_t apart = other < stack ? stack - other : other - stack;
      REQUIRE(apart >= static_cast<std::ptrdiff_t>(FiberStacks::kSize));
    }
    stack[0] = stack[FiberStacks::kSize - 1] = std::byte{1};
    taken.insert(stack);
  }
  for (std::byte* stack : taken) stacks.release(stack);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    std::byte* const again = stacks.take();
    REQUIRE(taken.count(again) == 1);
  }
  for (std::byte* stack : taken) stacks.release(stack);
}

TEST_CASE("fiber: the page below a stack faults, so that an overflow is no silent damage") {
  FiberStacks stacks;
  std::byte* const stack = stacks.take();
  const pid_t child = fork();
  if (child == 0) {
    for (const int number : {SIGSEGV, SIGBUS}) signal(number, [](int) { _exit(77); });
    *const_cast<volatile std::byte*>(stack - 1) = std::byte{1};
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == 77);
  stacks.release(stack);
}
