// The contract of io/device.h as a suite of tests that every implementation passes. A test program
// implements `World` for its devices and calls run_device_contract() inside a TEST_CASE; the cases
// are Catch2 sections, so each starts from a fresh world.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "io/device.h"
#include "io/executor.h"

namespace hexad::io::testing {

// Two devices of at least 8 MiB that share one queue, zeroed or not.
class World {
 public:
  virtual ~World() = default;
  virtual Device& device(int index) = 0;  // 0 or 1
  // Destroys the handle of a device and opens it again.
  virtual void reopen(int index) = 0;
  virtual Executor& executor() = 0;
  // Runs the body of a test: at once, or on a fiber.
  virtual void run(const std::function<void()>& body) { body(); }
  virtual bool can_grow() const { return true; }
};

using WorldMaker = std::function<std::unique_ptr<World>()>;

void run_device_contract(const WorldMaker& make);

// Bytes that depend on seed and place, at an address as D1 wants it.
AlignedBuffer pattern(std::uint64_t seed, std::size_t size);

}  // namespace hexad::io::testing
