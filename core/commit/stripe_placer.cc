#include "core/commit/stripe_placer.h"

#include <algorithm>
#include <utility>

#include "base/refused_memory.h"
#include "core/blob/pack_stripe.h"
#include "core/blob/placement_plan.h"

namespace hexad::core {

namespace {

void leave_in_log(UnplacedBlob& blob, PlacedBlobs& placed) {
  blob.stored = blob.stored.compact();  // it stays in memory until it is packed
  placed.part.payloads.push_back(
      {blob.place, blob.owner, blob.offset, std::string(as_text(blob.stored.bytes()))});
}

}  // namespace

PlacementPlan StripePlacer::plan(const std::vector<UnplacedBlob>& blobs,
                                 std::uint32_t max_pack_units) const {
  return plan_some(blobs, std::vector<bool>(blobs.size()), max_pack_units, 0);
}

PlacementPlan StripePlacer::plan_some(const std::vector<UnplacedBlob>& blobs,
                                      const std::vector<bool>& left_out,
                                      std::uint32_t max_pack_units, std::uint64_t log_bytes) const {
  PlacementRules rules = pack_rules(shape_, max_pack_units);
  rules.log_bytes = log_bytes;
  std::vector<PlacementItem> items;
  std::vector<std::size_t> blob_of;  // by item
  items.reserve(blobs.size());
  blob_of.reserve(blobs.size());
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    if (left_out[i]) continue;
    items.push_back({static_cast<std::uint32_t>(blobs[i].stored.size()),
                     pack_footer_entry(blobs[i]), blobs[i].where.units > 0});
    blob_of.push_back(i);
  }
  PlacementPlan plan = plan_placement(items, rules);
  for (PackPlan& pack : plan.packs) {
    for (PackPlan::Slot& slot : pack.slots) slot.item = blob_of[slot.item];
  }
  for (std::vector<std::size_t>* list : {&plan.own_stripe, &plan.in_log}) {
    for (std::size_t& item : *list) item = blob_of[item];
  }
  return plan;
}

// Whether plan_some() would say so of all of them, as for a lone small write.
bool StripePlacer::ride_in_log(const std::vector<UnplacedBlob>& blobs,
                               std::uint64_t log_bytes) const {
  PlacementRules rules = pack_rules(shape_, shape_.max_pack_units);
  rules.log_bytes = log_bytes;
  std::uint64_t bytes = 0;
  for (const UnplacedBlob& blob : blobs) {
    if (blob.where.units > 0) return false;
    bytes += blob.stored.size();
  }
  return fit_log(bytes, rules);
}

Result<PlacedBlobs> StripePlacer::place(std::vector<UnplacedBlob> blobs, std::uint64_t log_bytes,
                                        const std::vector<GivenPack>& given) const {
  if (given.empty() && ride_in_log(blobs, log_bytes)) {
    PlacedBlobs placed;
    placed.part.payloads.reserve(blobs.size());
    for (UnplacedBlob& blob : blobs) leave_in_log(blob, placed);
    placed.in_log = std::move(blobs);
    return placed;
  }
  std::vector<bool> is_given(blobs.size());
  for (const GivenPack& pack : given) {
    for (const PackPlan::Slot& slot : pack.plan.slots) is_given[slot.item] = true;
  }
  PlacementPlan plan = plan_some(blobs, is_given, shape_.max_pack_units, log_bytes);

  PlacedBlobs placed;
  PromisedUnits taken;  // by the stripes that have their units
  Status status;
  for (std::size_t i = 0; status.ok() && i < given.size(); ++i) {
    status = fill_pack(given[i], blobs, placed);
  }
  for (std::size_t i = 0; i < plan.packs.size(); ++i) {
    if (!status.ok()) break;
    const PackPlan pack = plan.packs[i];
    status = place_pack(pack, blobs, placed);
    if (!status.ok() && status.error().code == ErrorCode::kNoSpace) {
      plan_shorter(pack, blobs, plan);
      status = {};
      continue;
    }
    if (!status.ok()) break;
    for (const PackPlan::Slot& slot : pack.slots) taken += PromisedUnits(blobs[slot.item].units);
  }
  for (std::size_t i = 0; status.ok() && i < plan.own_stripe.size(); ++i) {
    const UnplacedBlob& blob = blobs[plan.own_stripe[i]];
    status = place_own(blob, placed);
    if (status.ok()) taken += PromisedUnits(blob.units);
  }
  if (!status.ok()) {
    space_.reserve(taken);
    for (const StripeWrite& stripe : placed.stripes) space_.discard(stripe.where);
    return status.error();
  }
  for (const std::size_t item : plan.in_log) {
    leave_in_log(blobs[item], placed);
    placed.in_log.push_back(std::move(blobs[item]));
  }
  return placed;
}

// Not that much is free in one run. Half of it may be; what is reserved for each of them is.
void StripePlacer::plan_shorter(const PackPlan& pack, const std::vector<UnplacedBlob>& blobs,
                                PlacementPlan& plan) const {
  PlacementPlan shorter;
  if (pack.units == 1) {
    for (const PackPlan::Slot& slot : pack.slots) shorter.own_stripe.push_back(slot.item);
  } else {
    std::vector<bool> others(blobs.size(), true);
    for (const PackPlan::Slot& slot : pack.slots) others[slot.item] = false;
    shorter = plan_some(blobs, others, pack.units / 2, 0);
  }
  for (PackPlan& one : shorter.packs) plan.packs.push_back(std::move(one));
  plan.own_stripe.insert(plan.own_stripe.end(), shorter.own_stripe.begin(),
                         shorter.own_stripe.end());
}

Status StripePlacer::place_pack(const PackPlan& plan, const std::vector<UnplacedBlob>& blobs,
                                PlacedBlobs& placed) const {
  // Alone, in the units that it has already.
  const alloc::Extent& own = blobs[plan.slots.front().item].where;
  if (own.units > 0) return fill_pack({plan, own}, blobs, placed);
  PromisedUnits promised;
  for (const PackPlan::Slot& slot : plan.slots) promised += PromisedUnits(blobs[slot.item].units);
  HEXAD_TRY_ASSIGN(const alloc::Extent where, space_.allocate_shared(plan.units, promised));
  Status filled = fill_pack({plan, where}, blobs, placed);
  if (filled.ok()) return {};
  space_.reserve(promised);
  space_.discard(where);
  return filled;
}

Status StripePlacer::fill_pack(const GivenPack& pack, const std::vector<UnplacedBlob>& blobs,
                               PlacedBlobs& placed) const {
  const alloc::Extent& where = pack.where;
  // The large buffers are made here, and nothing else is touched.
  HEXAD_TRY_ASSIGN(PreparedBlob built, without_bad_alloc([&] {
                     return build_pack(pack.plan, blobs, where, shape_, codec_);
                   }));
  built.blob.where = where;
  placed.part.allocated.push_back({where, built.blob.cell_bytes, false, built.blob.cell_sums,
                                   built.blob.stored, space_.unusable_slots(where), built.footer});
  for (const PackPlan::Slot& slot : pack.plan.slots) {
    UnplacedPlace place;
    place.from = blobs[slot.item].place;
    place.stored = static_cast<std::uint32_t>(blobs[slot.item].stored.size());
    place.where = {where.zone, where.unit, 0};
    place.cell = slot.cell;
    place.cell_offset = slot.offset;
    placed.part.placed.push_back(std::move(place));
  }
  placed.stripes.push_back({where, std::move(built)});
  return {};
}

Status StripePlacer::place_own(const UnplacedBlob& blob, PlacedBlobs& placed) const {
  HEXAD_TRY_ASSIGN(PreparedBlob coded,
                   without_bad_alloc([&] { return preparer_.code(blob.stored.bytes()); }));
  alloc::Extent where = blob.where;
  if (where.units == 0) {
    HEXAD_TRY_ASSIGN(where, space_.allocate_reserved(coded.units));
  }
  coded.blob.where = where;
  placed.part.allocated.push_back(
      {where, coded.blob.cell_bytes, false, coded.blob.cell_sums, 0, space_.unusable_slots(where)});
  UnplacedPlace place;
  place.from = blob.place;
  place.stored = static_cast<std::uint32_t>(blob.stored.size());
  place.placement = Placement::kPrivate;
  place.where = where;
  place.cell_bytes = coded.blob.cell_bytes;
  place.cell_sums = coded.blob.cell_sums;
  place.block_sums = coded.blob.block_sums;
  placed.part.placed.push_back(std::move(place));
  placed.stripes.push_back({where, std::move(coded)});
  if (alone_) alone_(blob, where.units);
  return {};
}

}  // namespace hexad::core
