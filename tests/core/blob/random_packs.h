// Random unplaced blobs, and the pack stripes that a store of any shape would make of them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/blob/pack_stripe.h"
#include "io/rng.h"

namespace hexad::core {

StoreShape shape_for(ec::Profile profile, ChecksumType checksum, std::uint64_t unit);
// `largest`: bytes of a blob.
std::vector<UnplacedBlob> random_unplaced(io::Rng& rng, std::size_t count, std::uint32_t largest);
PlacementPlan plan_for(const std::vector<UnplacedBlob>& blobs, const StoreShape& shape);

}  // namespace hexad::core
