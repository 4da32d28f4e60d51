// Fibers: stacks of their own that take turns on one thread. The machinery below
// io/sim/sim_executor.h, which decides whose turn it is.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "io/executor.h"

namespace hexad::io {

// Stacks, kept for the next fiber. Share one among the simulations of a test that makes many of
// them: mapping a stack costs more than a short fiber.
class FiberStacks {
 public:
  FiberStacks() = default;
  FiberStacks(const FiberStacks&) = delete;
  FiberStacks& operator=(const FiberStacks&) = delete;
  ~FiberStacks();

  // The lowest usable address of kSize bytes; the page below faults.
  std::byte* take();
  void release(std::byte* stack);

  static const std::size_t kSize;  // bytes; larger under AddressSanitizer, whose frames are

 private:
  std::vector<std::byte*> free_;
};

// One task on a stack of its own. Not movable; one thread.
class Fiber {
 public:
  Fiber(FiberStacks& stacks, Task task);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  // A fiber whose task has not returned is dropped as it stands: nothing on its stack is destroyed.
  ~Fiber();

  // Runs the task from where it stopped until it suspends or returns. Called from outside of any
  // fiber. Throws what the task threw (a test's failed assertion).
  void resume();
  // Called from inside: back to the caller of resume().
  void suspend();
  bool finished() const { return finished_; }

 private:
  struct State;
  static void enter(unsigned high, unsigned low);
  void run();

  FiberStacks& stacks_;
  std::unique_ptr<State> state_;
  Task task_;
  bool finished_ = false;
};

}  // namespace hexad::io
