#include "core/clean/moved_stripes.h"

#include <algorithm>
#include <utility>

#include "base/refused_memory.h"
#include "base/units.h"
#include "core/blob/pack_stripe.h"

namespace hexad::core {

namespace {

// Allocates and codes. With an error, what has been allocated stands in `moved`.
Status prepare(const CleanParts& parts, std::span<const PackPlan> layouts,
               const std::vector<UnplacedBlob>& blobs, MovedStripes& moved) {
  moved = {};
  moved.places.resize(blobs.size());
  moved.stripe_of.resize(blobs.size());
  for (const PackPlan& layout : layouts) {
    StripeWrite& stripe = moved.stripes.emplace_back();
    Result<alloc::Extent> where = parts.space.allocate_move(layout.units);
    if (!where.ok()) {
      moved.stripes.pop_back();
      return where.status();
    }
    stripe.where = *where;
    HEXAD_TRY_ASSIGN(stripe.prepared, without_bad_alloc([&] {
                       return build_pack(layout, blobs, stripe.where, parts.shape, parts.codec);
                     }));
    stripe.prepared.blob.where = stripe.where;
    for (const PackPlan::Slot& slot : layout.slots) {
      moved.places[slot.item] = {stripe.where.zone, stripe.where.unit, slot.cell, slot.offset};
      moved.stripe_of[slot.item] = moved.stripes.size() - 1;
    }
  }
  return {};
}

Status land(const CleanParts& parts, MovedStripes& moved) {
  StripeBatch batch(
      StripeWriter(parts.shape, parts.space, parts.members, parts.counters, StripeUse::kClean));
  for (const StripeWrite& stripe : moved.stripes) batch.add(stripe);
  const LandedStripes landed = batch.land_patiently(parts.executor);
  // R13: they leave before anything rests on these cells, and when nothing will, too.
  if (!landed.failed.empty()) HEXAD_TRY(parts.lose(landed.failed));
  HEXAD_TRY(landed.status);
  for (const StripeOutcome& stripe : landed.stripes) moved.unwritten.push_back(stripe.unwritten());
  return {};
}

// One stripe of at most so many units; 0 units: they do not fit.
PackPlan lay_out_stripe(std::span<const UnplacedBlob> blobs, std::uint32_t most_units,
                        const StoreShape& shape) {
  std::vector<PlacementItem> items;
  items.reserve(blobs.size());
  for (const UnplacedBlob& blob : blobs) {
    items.push_back(
        {static_cast<std::uint32_t>(blob.stored.size()), pack_footer_entry(blob), false});
  }
  return lay_out_pack(items, pack_rules(shape, most_units));
}

}  // namespace

StripeProof MovedStripes::proof(std::size_t stripe, std::uint64_t live) const {
  const StripeWrite& write = stripes[stripe];
  const Blob& blob = write.prepared.blob;
  return {write.where,       blob.cell_bytes,      true, blob.cell_sums, live,
          unwritten[stripe], write.prepared.footer};
}

std::vector<PackPlan> lay_out_moved(std::span<const UnplacedBlob> blobs,
                                    std::span<const std::uint32_t> runs, const StoreShape& shape) {
  std::vector<PackPlan> plans;
  for (std::size_t begin = 0; begin < blobs.size();) {
    if (plans.size() == runs.size()) return {};
    const std::uint32_t most_units = std::min(runs[plans.size()], shape.max_pack_units);
    const std::uint64_t most = most_units * shape.unit * shape.k();
    std::uint64_t bytes = 0;
    std::size_t count = 0;
    for (; begin + count < blobs.size(); ++count) {
      const UnplacedBlob& blob = blobs[begin + count];
      bytes += round_up(blob.stored.size(), kPackAlignment) + pack_footer_entry(blob);
      if (bytes > most) break;
    }
    PackPlan plan;
    for (; count > 0; count -= std::max<std::size_t>(1, count / 8)) {
      plan = lay_out_stripe(blobs.subspan(begin, count), most_units, shape);
      if (plan.units > 0) break;
    }
    if (count == 0) return {};
    for (PackPlan::Slot& slot : plan.slots) slot.item += begin;
    plans.push_back(std::move(plan));
    begin += count;
  }
  return plans;
}

std::uint64_t units_of(std::span<const PackPlan> layouts) {
  std::uint64_t units = 0;
  for (const PackPlan& layout : layouts) units += layout.units;
  return units;
}

Result<Lsn> write_moved(const CleanParts& parts, std::span<const PackPlan> layouts,
                        const std::vector<UnplacedBlob>& blobs, const FillMoved& fill,
                        MovedStripes& moved) {
  Status status = prepare(parts, layouts, blobs, moved);
  if (status.ok()) status = land(parts, moved);
  std::vector<bool> named(moved.stripes.size(), false);
  bool entered = false;
  Lsn lsn = 0;
  if (status.ok()) {
    const InternalCommits::FillRecord fill_record = [&](LogRecord& record) -> Status {
      HEXAD_TRY(fill(moved, record));
      for (std::size_t i = 0; i < named.size(); ++i) {
        named[i] = std::any_of(
            record.allocated.begin(), record.allocated.end(),
            [&](const StripeProof& proof) { return proof.where == moved.stripes[i].where; });
      }
      return {};
    };
    const Result<Lsn> committed =
        parts.commits.commit_internal(fill_record, [&] { entered = true; });
    status = committed.status();
    if (committed.ok()) lsn = *committed;
  }
  for (std::size_t i = 0; i < moved.stripes.size(); ++i) {
    if (!entered || !named[i]) parts.space.discard(moved.stripes[i].where);
  }
  // All of it has died meanwhile.
  if (!entered && !status.ok() && status.error().code == ErrorCode::kNotFound) return Lsn{0};
  HEXAD_TRY(status);
  return lsn;
}

Error nothing_to_move() { return {ErrorCode::kNotFound, "nothing is left to move", ""}; }

}  // namespace hexad::core
