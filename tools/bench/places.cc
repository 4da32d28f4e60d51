#include "tools/bench/places.h"

namespace hexad::tools {

Places::Places(std::uint64_t objects, std::uint64_t blocks, Order order, double theta)
    : blocks_(blocks), total_(objects * blocks), order_(order), scatter_(total_) {
  if (theta > 0) zipf_.emplace(total_, theta);
}

Place Places::next(io::Rng& rng) {
  std::uint64_t index = 0;
  std::uint64_t lap = 0;
  if (zipf_.has_value()) {
    index = scatter_(zipf_->next(rng));
  } else if (order_ == Order::kRandom) {
    index = rng.below(total_);
  } else {
    const std::uint64_t taken = taken_.fetch_add(1, std::memory_order_relaxed);
    index = taken % total_;
    lap = taken / total_;
  }
  return {index / blocks_, index % blocks_, lap};
}

}  // namespace hexad::tools
