#include "core/transact/packer.h"

#include <map>
#include <utility>

namespace hexad::core {

Status Packer::pack_payloads() {
  {
    // What was sealed before that is durable, or its group has failed.
    const SequencerLock lock(parts_.order.sequencer);
    HEXAD_TRY(parts_.pipeline.drain());
  }
  for (;;) {
    const std::vector<UnplacedBlob> blobs =
        parts_.log_blobs.take_payloads(kPackBytes, parts_.pipeline.max_packing_record());
    if (blobs.empty()) return {};
    HEXAD_TRY(pack_some(blobs));
  }
}

// The cells are durable before the record says where they are; until that record is durable the log
// has the blobs. A crash in between leaves units that nobody names, and they are free again.
Status Packer::pack_some(const std::vector<UnplacedBlob>& blobs) {
  Result<PlacedBlobs> result = parts_.placer.place(blobs, 0);
  if (!result.ok()) {
    parts_.space.release(parts_.log_blobs.return_payloads(blobs));
    return result.status();
  }
  const PlacedBlobs placed = std::move(result).value();
  // They stay in the log, with units reserved for them, before others can have these.
  const auto take_back = [&] {
    for (const UnplacedBlob& blob : blobs) parts_.space.reserve(PromisedUnits(blob.units));
    for (const StripeWrite& stripe : placed.stripes) parts_.space.discard(stripe.where);
    parts_.space.release(parts_.log_blobs.return_payloads(blobs));
  };
  StripeBatch batch(
      {parts_.shape, parts_.space, parts_.members, parts_.counters, StripeUse::kUser});
  for (const StripeWrite& stripe : placed.stripes) batch.add(stripe);
  const LandedStripes landed = batch.land_patiently(parts_.executor);
  Status written = landed.status;
  // R13: they leave before anything rests on these cells, and when nothing will, too.
  if (!landed.failed.empty()) {
    const Status lost = parts_.membership.lose_devices(landed.failed);
    if (!lost.ok()) written = lost;
  }
  if (!written.ok()) {
    take_back();
    return written;
  }

  std::vector<alloc::Extent> unused;
  std::vector<UnplacedPlace> kept;
  const InternalCommits::FillRecord fill = [&](LogRecord& record) -> Status {
    unused.clear();
    // Under the sequencer's lock: what has died by now stays where it is, and its bytes in the
    // stripe were never alive.
    std::map<std::pair<alloc::ZoneId, std::uint32_t>, std::uint64_t> live;
    for (const UnplacedPlace& place : placed.part.placed) {
      const std::optional<LogBlobs::Found> found = parts_.log_blobs.find(place.from);
      if (!found.has_value() || found->dead || found->place.has_value()) continue;
      live[{place.where.zone, place.where.unit}] += place.stored;
      record.group.placed.push_back(place);
    }
    for (std::size_t i = 0; i < placed.part.allocated.size(); ++i) {
      StripeProof proof = placed.part.allocated[i];
      const auto at = live.find({proof.where.zone, proof.where.unit});
      if (at == live.end()) {
        unused.push_back(proof.where);
        continue;
      }
      proof.durable_before = true;
      HEXAD_ASSERT(landed.stripes[i].where == proof.where);
      proof.unwritten = landed.stripes[i].unwritten();
      if (proof.live > 0) proof.live = at->second;
      record.group.allocated.push_back(std::move(proof));
    }
    kept = record.group.placed;
    return {};
  };
  bool entered = false;
  const auto set_places = [&] {
    entered = true;
    HEXAD_ASSERT(parts_.log_blobs.set_places(kept) == PromisedUnits());
  };
  const Result<Lsn> committed = parts_.commits.commit_internal(fill, set_places, LogRoom::kPacking);
  if (!entered) {
    take_back();
    return committed.status();
  }
  for (const alloc::Extent& where : unused) parts_.space.discard(where);
  parts_.counters.add(CounterId::kLogBlobsPacked, kept.size());
  return committed.status();
}

}  // namespace hexad::core
