// Where the operations of a benchmark go: which object, and which part of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "io/rng.h"
#include "tools/bench/zipf.h"

namespace hexad::tools {

struct Place {
  std::uint64_t object = 0;  // index
  std::uint64_t block = 0;   // index in the object
  std::uint64_t lap = 0;     // in order: how often all places have been gone through before
};

// Any thread, each with its generator.
class Places {
 public:
  enum class Order : std::uint8_t {
    kInOrder,  // all blocks of the first object, then those of the next one, over all callers
    kRandom,
  };
  // `objects` of `blocks` each, both > 0. theta 0: every place is as likely as any other; else
  // drawn by Zipf's law, whatever the order.
  Places(std::uint64_t objects, std::uint64_t blocks, Order order, double theta);

  Place next(io::Rng& rng);

 private:
  const std::uint64_t blocks_;
  const std::uint64_t total_;
  const Order order_;
  const Scatter scatter_;
  std::optional<Zipf> zipf_;
  std::atomic<std::uint64_t> taken_{0};  // in order
};

}  // namespace hexad::tools
