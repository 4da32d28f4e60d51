#include "core/stripe_placer.h"

#include <algorithm>
#include <utility>

#include "core/pack_stripe.h"
#include "core/placement_plan.h"

namespace hexad::core {

Result<PlacedBlobs> StripePlacer::place(std::vector<YoungBlob> blobs,
                                        std::uint64_t log_bytes) const {
  PlacementRules rules;
  rules.k = shape_.k();
  rules.cells = shape_.cells();
  rules.unit = static_cast<std::uint32_t>(shape_.unit);
  rules.max_pack_units = shape_.max_pack_units;
  rules.footer = pack_footer_base(shape_.record);
  rules.log_bytes = log_bytes;
  std::vector<PlacementItem> items;
  items.reserve(blobs.size());
  for (const YoungBlob& blob : blobs) {
    items.push_back({static_cast<std::uint32_t>(blob.stored.size()), pack_footer_entry(blob),
                     blob.where.units > 0});
  }
  PlacementPlan plan = plan_placement(items, rules);

  PlacedBlobs placed;
  PromisedUnits taken;  // by the stripes that have their units
  Status status;
  for (const PackPlan& pack : plan.packs) {
    status = place_pack(pack, blobs, placed);
    if (!status.ok() && status.error().code == ErrorCode::kNoSpace) {
      // Not that much is free in one run; what is reserved for each of them is.
      for (const PackPlan::Slot& slot : pack.slots) plan.own_stripe.push_back(slot.item);
      status = {};
      continue;
    }
    if (!status.ok()) break;
    for (const PackPlan::Slot& slot : pack.slots) taken += PromisedUnits(blobs[slot.item].units);
  }
  for (std::size_t i = 0; status.ok() && i < plan.own_stripe.size(); ++i) {
    const YoungBlob& blob = blobs[plan.own_stripe[i]];
    status = place_own(blob, placed);
    if (status.ok()) taken += PromisedUnits(blob.units);
  }
  if (!status.ok()) {
    space_.reserve(taken);
    for (const StripeWrite& stripe : placed.stripes) space_.abandon(stripe.where);
    return status.error();
  }
  for (const std::size_t item : plan.in_log) {
    YoungBlob& blob = blobs[item];
    blob.stored = blob.stored.compact();  // it stays in memory until it is packed
    placed.part.payloads.push_back(
        {blob.place, blob.owner, blob.offset, std::string(as_text(blob.stored.bytes()))});
    placed.in_log.push_back(std::move(blob));
  }
  return placed;
}

Status StripePlacer::place_pack(const PackPlan& plan, const std::vector<YoungBlob>& blobs,
                                PlacedBlobs& placed) const {
  PromisedUnits promised;
  for (const PackPlan::Slot& slot : plan.slots) promised += PromisedUnits(blobs[slot.item].units);
  HEXAD_TRY_ASSIGN(const alloc::Extent where, space_.allocate_shared(plan.units, promised));
  Result<PreparedBlob> built = build_pack(plan, blobs, shape_, codec_);
  if (!built.ok()) {
    space_.reserve(promised);
    space_.abandon(where);
    return built.error();
  }
  built->blob.where = where;
  placed.part.allocated.push_back(
      {where, built->blob.cell_bytes, false, built->blob.cell_sums, built->blob.stored});
  for (const PackPlan::Slot& slot : plan.slots) {
    YoungPlace place;
    place.from = blobs[slot.item].place;
    place.stored = static_cast<std::uint32_t>(blobs[slot.item].stored.size());
    place.where = {where.zone, where.unit, 0};
    place.cell = slot.cell;
    place.cell_offset = slot.offset;
    placed.part.placed.push_back(std::move(place));
  }
  placed.stripes.push_back({where, std::move(built).value()});
  return {};
}

Status StripePlacer::place_own(const YoungBlob& blob, PlacedBlobs& placed) const {
  HEXAD_TRY_ASSIGN(PreparedBlob coded, preparer_.code(blob.stored.bytes()));
  alloc::Extent where = blob.where;
  if (where.units == 0) {
    HEXAD_TRY_ASSIGN(where, space_.allocate_reserved(coded.units));
  }
  coded.blob.where = where;
  placed.part.allocated.push_back({where, coded.blob.cell_bytes, false, coded.blob.cell_sums, 0});
  YoungPlace place;
  place.from = blob.place;
  place.stored = static_cast<std::uint32_t>(blob.stored.size());
  place.placement = Placement::kPrivate;
  place.where = where;
  place.cell_bytes = coded.blob.cell_bytes;
  place.cell_sums = coded.blob.cell_sums;
  place.block_sums = coded.blob.block_sums;
  placed.part.placed.push_back(std::move(place));
  placed.stripes.push_back({where, std::move(coded)});
  return {};
}

}  // namespace hexad::core
