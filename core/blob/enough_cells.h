// The fewest cells of a stripe that the others can be rebuilt from.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/space/stripe_map.h"
#include "ec/shard_set.h"

namespace hexad::core {

// The k lowest roles of `places` that can be read from devices that answer: data cells before
// parity, so that the least has to be computed. Nothing where there are fewer than k. Any thread.
std::optional<ec::ShardSet> enough_cells(const std::vector<CellPlace>& places, std::uint32_t k);

}  // namespace hexad::core
