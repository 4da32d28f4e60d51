// Cells of the last commits that a crash has torn, or kept from being written, as recovery has
// found them: which of a stripe's cells are no damage, though they are not what they should be.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "alloc/zone.h"
#include "ec/shard_set.h"

namespace hexad::core {

class TornCells {
 public:
  void add(const alloc::Extent& stripe, ec::ShardSet cells) {
    cells_[{stripe.zone, stripe.unit}] = cells;
    count_ += cells.size();
  }
  std::uint64_t count() const { return count_; }
  // Whether all of these cells of the stripe are such. False of none.
  bool explain(const alloc::Extent& stripe, ec::ShardSet bad) const {
    const auto found = cells_.find({stripe.zone, stripe.unit});
    return found != cells_.end() && !bad.empty() && found->second.includes(bad);
  }

 private:
  std::map<std::pair<alloc::ZoneId, std::uint32_t>, ec::ShardSet> cells_;  // by where they begin
  std::uint64_t count_ = 0;
};

}  // namespace hexad::core
