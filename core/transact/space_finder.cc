#include "core/transact/space_finder.h"

namespace hexad::core {

namespace {

// Payloads in the log, bytes, from which on a commit without space makes a checkpoint that packs
// them before it looks elsewhere: half of what the longest pack stripe holds. Of less come short
// stripes that are not full, in a store that has to move others for each of their units; and what
// is promised to less, a unit or a few for each blob, is little.
std::uint64_t worth_packing(const StoreShape& shape) {
  return shape.max_pack_units * shape.unit * shape.k() / 2;
}

}  // namespace

// A zone for an attempt that found room in none, unless somebody has made one since: so whoever
// comes back without an error finds more zones than before, of which there is an end, or more room
// in the log, or devices have left. Nothing rests on a zone that nobody takes anything of after
// all: it is there for others. Headers of one that got no record mean nothing, and are written
// over.
Status SpaceFinder::make_zone(const Attempt& attempt) {
  HEXAD_TRY_ASSIGN(const std::uint64_t log_bytes,
                   parts_.zones.make_unless_more_than(attempt.all_units));
  // Not under the lock of zones: the checkpoint may need one itself.
  return log_bytes == 0 ? Status() : parts_.log.make(log_bytes);
}

bool SpaceFinder::has_more(const Attempt& attempt) const {
  return parts_.space.counters().free > attempt.free_units;
}

// What rides in the log has more promised to it than it takes packed. A checkpoint for that packs
// all there is, so callers that find no space at once need one, not one each.
Status SpaceFinder::pack(std::uint64_t least) {
  const auto needless = [&] { return parts_.log_blobs.payload_bytes() < least; };
  if (needless()) return {};
  HEXAD_TRY(parts_.checkpointer.run(Checkpointer::Close::kGoesOn, needless));
  parts_.reclaimer.reclaim();
  return {};
}

Status SpaceFinder::find(const Attempt& attempt) {
  Status zone;
  if (attempt.wants_zone) {
    zone = make_zone(attempt);
    // Where there is no room below the devices, what was freed may do.
    if (zone.ok() || zone.error().code != ErrorCode::kNoSpace) return zone;
  } else if (parts_.space.zone_under_way()) {
    parts_.zones.await();
    return {};
  }
  // What is kept back because of them may be all that is missing (V3).
  if (!parts_.space.suspects().empty()) return parts_.membership.lose_devices({});
  // Pages of removed objects, and payloads in the log, which take more room alone than packed.
  // What cannot be reclaimed is the background's affair: there may be space without it.
  if (const Result<bool> deleted = parts_.deletions.step(); deleted.ok() && *deleted) return {};
  // A merge that goes on beside is a luxury, and has taken some.
  if (parts_.mergers.give_up()) return {};
  // Slabs that move keep zones closed.
  if (parts_.space.room_is_closed() && parts_.slab_mover.give_up()) return {};
  const std::uint64_t reserved = parts_.space.reserved();
  // Somebody who was in the way has gone meanwhile, or there is a new zone.
  if (reserved < attempt.promised || has_more(attempt)) return {};
  if (reserved > 0) {
    // What is in flight gives back most of what it has reserved, and so does packing.
    HEXAD_TRY(parts_.pipeline.wait_durable(parts_.pipeline.next_lsn() - 1));
    HEXAD_TRY(pack(worth_packing(parts_.shape)));
    const bool more = has_more(attempt);
    if (more || parts_.space.reserved() < reserved) return {};
  }
  // Space freed at LSN f comes back when a durable block carries a watermark of at least f (R9).
  if (parts_.space.has_deferred()) {
    const Lsn freed = parts_.pipeline.next_lsn() - 1;
    HEXAD_TRY(parts_.pipeline.wait_durable(freed));
    const Status recorded = parts_.pipeline.wait_recorded(freed);
    const bool full = !recorded.ok() && recorded.error().code == ErrorCode::kNoSpace;
    if (!full) {
      HEXAD_TRY(recorded);
    } else {
      HEXAD_TRY(parts_.checkpointer.run(Checkpointer::Close::kGoesOn));  // its root records as much
    }
    if (parts_.waits.outlast_reads(attempt)) return {};
  }
  // What is dead beside something that is alive: core/clean/cleaner.h.
  const Result<bool> moved = parts_.cleaner.step(Cleaner::For::kCommit);
  if (moved.ok() && *moved) return {};
  if (!moved.ok()) hooks_.note_cleaning(moved.status());
  // While this looked elsewhere, others may have recorded what was freed, or ended their reads.
  const Lsn recorded = parts_.pipeline.recorded();
  const bool looked_at = parts_.reclaimer.reclaim() < recorded;
  if (has_more(attempt)) return {};
  // Others have gone on meanwhile, with what came back perhaps, and what they replace comes back in
  // turn: only who finds nobody going on has found the store full.
  const Lsn newest = parts_.pipeline.next_lsn() - 1;
  if (newest > attempt.durable && attempt.tries < kMaxPatience) {
    return parts_.pipeline.wait_durable(newest);
  }
  // Nobody goes on, and nothing can be moved: now the little counts, too, that rides in the log,
  // and what is packed can be moved by the next try. After that nothing rides there but what others
  // have brought since, so whoever is alone comes here once.
  if (*attempt.packings > 0 && parts_.log_blobs.payload_bytes() > 0) {
    --*attempt.packings;
    return pack(1);
  }
  // Whoever reads an old version for long gives way before a commit fails.
  const std::uint64_t held = parts_.space.held_units();
  if (held > 0 && parts_.pins.end_oldest()) {
    parts_.reclaimer.reclaim();
    return {};
  }
  if (!zone.ok()) return zone;
  if (parts_.waits.outlast_moves(attempt)) return {};
  if (const std::string who = hooks_.describe_held(); !who.empty()) {
    return attempt.space_error.with_context(who);
  }
  if (looked_at && parts_.space.has_deferred()) {
    return attempt.space_error.with_context(
        "what was deleted or overwritten is being read just now");
  }
  return attempt.space_error;
}

}  // namespace hexad::core
