// Packing: what rode in the log gets a place in a stripe, so that a checkpoint can trim the log.
#include <map>
#include <set>
#include <utility>

#include "core/engine/engine.h"
#include "io/refused.h"

namespace hexad::core {

// Precondition: no further payload goes into the log (Lane::allow_payloads). Under the checkpoint's
// lock, so that nobody else packs.
Status Engine::pack_payloads() {
  {
    // What was sealed before that is durable, or its group has failed.
    const SequencerLock lock(sequencer_);
    HEXAD_TRY(lane_->drain());
  }
  for (;;) {
    const std::vector<YoungBlob> blobs =
        parts_.log_blobs->take_payloads(kPackBytes, lane_->max_packing_record());
    if (blobs.empty()) return {};
    HEXAD_TRY(pack_some(blobs));
  }
}

// The cells are durable before the record says where they are; until that record is durable the log
// has the blobs. A crash in between leaves units that nobody names, and they are free again.
Status Engine::pack_some(const std::vector<YoungBlob>& blobs) {
  Result<PlacedBlobs> result = placer_->place(blobs, 0);
  if (!result.ok()) {
    parts_.space->give_back(parts_.log_blobs->hand_back(blobs));
    return result.status();
  }
  const PlacedBlobs placed = std::move(result).value();
  // They stay in the log, with units reserved for them, before others can have these.
  const auto take_back = [&] {
    for (const YoungBlob& blob : blobs) parts_.space->reserve(PromisedUnits(blob.units));
    for (const StripeWrite& stripe : placed.stripes) parts_.space->abandon(stripe.where);
    parts_.space->give_back(parts_.log_blobs->hand_back(blobs));
  };
  std::set<DeviceId> failed;
  Status written = write_stripes(placed.stripes, failed);
  // R13: they leave before anything rests on these cells, and when nothing will, too.
  if (!failed.empty()) {
    const Status lost = lose_devices(failed);
    if (!lost.ok()) written = lost;
  }
  if (!written.ok()) {
    take_back();
    return written;
  }

  std::vector<alloc::Extent> unused;
  std::vector<YoungPlace> kept;
  const FillRecord fill = [&](LogRecord& record) -> Status {
    unused.clear();
    // Under the sequencer's lock: what has died by now stays where it is, and its bytes in the
    // stripe were never alive.
    std::map<std::pair<alloc::ZoneId, std::uint32_t>, std::uint64_t> live;
    for (const YoungPlace& place : placed.part.placed) {
      const std::optional<LogBlobs::Found> found = parts_.log_blobs->find(place.from);
      if (!found.has_value() || found->dead || found->place.has_value()) continue;
      live[{place.where.zone, place.where.unit}] += place.stored;
      record.group.placed.push_back(place);
    }
    for (StripeProof proof : placed.part.allocated) {
      const auto at = live.find({proof.where.zone, proof.where.unit});
      if (at == live.end()) {
        unused.push_back(proof.where);
        continue;
      }
      proof.durable_before = true;
      if (proof.live > 0) proof.live = at->second;
      record.group.allocated.push_back(std::move(proof));
    }
    kept = record.group.placed;
    return {};
  };
  bool entered = false;
  const auto set_places = [&] {
    entered = true;
    HEXAD_ASSERT(parts_.log_blobs->set_places(kept) == PromisedUnits());
  };
  const Result<Lsn> committed = commit_internal(fill, set_places, LogRoom::kPacking);
  if (!entered) {
    take_back();
    return committed.status();
  }
  for (const alloc::Extent& where : unused) parts_.space->abandon(where);
  parts_.counters->add(CounterId::kLogBlobsPacked, kept.size());
  return committed.status();
}

// Durable when it returns. `failed`: the devices that did not take a cell. Errors: a stripe has
// fewer than k cells; a write was refused (io/refused.h).
Status Engine::write_stripes(const std::vector<StripeWrite>& stripes, std::set<DeviceId>& failed) {
  const StoreShape& shape = *parts_.shape;
  io::IoBatch batch;
  std::vector<std::size_t> stripe_of;
  for (std::size_t i = 0; i < stripes.size(); ++i) {
    HEXAD_TRY_ASSIGN(const std::vector<CellPlace> places, parts_.space->locate(stripes[i].where));
    for (std::uint32_t role = 0; role < shape.cells(); ++role) {
      if (!places[role].readable) continue;
      batch.requests.push_back(io::IoRequest::write(
          *places[role].device, places[role].offset, stripes[i].prepared.cell(role),
          io::WriteMode::kDurable, cause_of_cell(role, shape.k())));
      stripe_of.push_back(i);
    }
    const Blob& blob = stripes[i].prepared.blob;
    const std::uint64_t data = std::uint64_t{blob.cell_bytes} * shape.k();
    parts_.counters->add(CounterId::kDeviceBytesUser, blob.stored);
    parts_.counters->add(CounterId::kDeviceBytesParity, std::uint64_t{blob.cell_bytes} * shape.m());
    parts_.counters->add(CounterId::kDeviceBytesPadding, data - blob.stored);
  }
  if (batch.requests.empty()) return {};
  io::IoQueue& queue = batch.requests.front().device->queue();
  queue.run(batch);
  Status refused = io::send_again_briefly(batch, executor());
  std::vector<std::uint32_t> good(stripes.size(), 0);
  for (std::size_t i = 0; i < batch.requests.size(); ++i) {
    const io::IoRequest& request = batch.requests[i];
    if (request.status.ok()) {
      ++good[stripe_of[i]];
    } else if (!io::is_refused(request)) {
      failed.insert(owner(request.device));
    }
  }
  parts_.space->suspect(failed);
  if (!refused.ok()) return refused;
  for (const std::uint32_t cells : good) {
    if (cells < shape.k()) return batch.first_error();
  }
  return {};
}

}  // namespace hexad::core
