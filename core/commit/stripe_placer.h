// Gives unplaced blobs their stripes: plans, allocates, lays out and encodes. Used when a group is
// sealed and when a checkpoint packs what rode in the log. No I/O.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "alloc/zone.h"
#include "base/error.h"
#include "core/blob/blob_prepare.h"
#include "core/blob/placement_plan.h"
#include "core/blob/stripe_writer.h"
#include "core/record/log_record.h"
#include "core/record/shape.h"
#include "core/space/log_blobs.h"
#include "core/space/space.h"
#include "ec/codec.h"

namespace hexad::core {

// A pack stripe that has its units already: its slots say which of some blobs it holds.
struct GivenPack {
  PackPlan plan;
  alloc::Extent where;
};

struct PlacedBlobs {
  GroupPart part;
  std::vector<StripeWrite> stripes;
  std::vector<UnplacedBlob> in_log;  // those of part.payloads
};

class StripePlacer {
 public:
  // Told of a blob that gets a stripe of so many units for itself, before anybody knows whether its
  // group comes to anything. Takes no lock but leaves.
  using Alone = std::function<void(const UnplacedBlob& blob, std::uint32_t units)>;

  // All outlive it.
  StripePlacer(const StoreShape& shape, const ec::Codec& codec, const BlobPreparer& preparer,
               Space& space, Alone alone = {})
      : shape_(shape),
        codec_(codec),
        preparer_(preparer),
        space_(space),
        alone_(std::move(alone)) {}

  // The choice that place() makes when nothing may ride in the log, with no more than so many units
  // to a cell of a pack stripe.
  PlacementPlan plan(const std::vector<UnplacedBlob>& blobs, std::uint32_t max_pack_units) const;
  // The blobs of `given` go there; at most `log_bytes` of the others may ride in the log. What the
  // blobs were promised is taken or given back, but for those that ride in the log. Of space that
  // belongs to others nothing is taken. Any thread. Errors: kNoSpace, and nothing is left
  // allocated, nor given back: a promise did not hold.
  Result<PlacedBlobs> place(std::vector<UnplacedBlob> blobs, std::uint64_t log_bytes,
                            const std::vector<GivenPack>& given = {}) const;

 private:
  bool ride_in_log(const std::vector<UnplacedBlob>& blobs, std::uint64_t log_bytes) const;
  PlacementPlan plan_some(const std::vector<UnplacedBlob>& blobs, const std::vector<bool>& left_out,
                          std::uint32_t max_pack_units, std::uint64_t log_bytes) const;
  void plan_shorter(const PackPlan& pack, const std::vector<UnplacedBlob>& blobs,
                    PlacementPlan& plan) const;
  Status place_pack(const PackPlan& plan, const std::vector<UnplacedBlob>& blobs,
                    PlacedBlobs& placed) const;
  Status fill_pack(const GivenPack& pack, const std::vector<UnplacedBlob>& blobs,
                   PlacedBlobs& placed) const;
  Status place_own(const UnplacedBlob& blob, PlacedBlobs& placed) const;

  const StoreShape& shape_;
  const ec::Codec& codec_;
  const BlobPreparer& preparer_;
  Space& space_;
  const Alone alone_;
};

}  // namespace hexad::core
