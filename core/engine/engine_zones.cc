// Zones, and what asks for zones and checkpoints.
#include <set>
#include <utility>

#include "core/engine/engine.h"

namespace hexad::core {

Status Engine::checkpoint() {
  HEXAD_TRY(writable());
  if (mergers_->finished()) {
    // What it gives up is said by zone images, and these by a run, which has to hold an LSN.
    HEXAD_TRY(commit_internal([](LogRecord&) { return Status(); }).status());
  }
  return run_checkpoint();
}

// On a merger's thread.
void Engine::on_merged(const Status& merged) {
  // The next checkpoint may be far away, and until then all that is given up would be kept back.
  if (!parts_.space->suspects().empty()) lose_suspects_soon();
  if (!merged.ok()) return;
  checkpoint_job_->note_merged();
  jobs_->wake(*checkpoint_job_);
}

void Engine::want_index() {
  if (index_job_->want()) jobs_->wake(*index_job_);
}

bool Engine::checkpoint_due() {
  return parts_.metadata->memtable_bytes() >= parts_.options.memtable_size ||
         lane_->log_used() >= lane_->log_capacity() / 2;
}

// Called after every group: asks for a zone and a checkpoint when they are due.
void Engine::on_progress() {
  reclaim();
  if (parts_.space->wants_zone() && zone_job_->want()) jobs_->wake(*zone_job_);
  if (cleaner_->wants_look() && clean_job_->want()) jobs_->wake(*clean_job_);
  // What the engine commits for itself is no reason to wait longer.
  if (users_committed_.exchange(false, std::memory_order_relaxed) && cleaner_->wants_rest() &&
      clean_job_->want_rest()) {
    jobs_->wake(*clean_job_);
  }
  if (checkpoint_due() && checkpoint_job_->note_due()) jobs_->wake(*checkpoint_job_);
}

// The last checkpoint may need a zone, too, when the store is closed for everybody else.
Status Engine::make_zone(ZoneFor whom) {
  const io::Lock lock(zone_mutex_);
  Lacking lacking;
  return make_zone_locked(whom, lacking);
}

// Not under the sequencer's lock: all but the record is I/O, and commits that have room go on.
Status Engine::make_zone_locked(ZoneFor whom, Lacking& lacking) {
  // Before anything is written: what the last root names may be nobody's to touch.
  if (whom != ZoneFor::kCheckpoint) HEXAD_TRY(writable());
  const bool waits = whom == ZoneFor::kWaiting;
  const auto zeroing = waits ? Space::Zeroing::kNone : Space::Zeroing::kAhead;
  Result<ZoneCreation> prepared = Error{};
  for (std::set<DeviceId> failed;;) {
    prepared = parts_.space->prepare_zone(zeroing, &failed);
    if (failed.empty()) break;
    // Whoever has failed is told to have, whatever it was that failed.
    const Status left = lose_devices(std::exchange(failed, {}));
    if (!left.ok() && prepared.ok()) parts_.space->release_zone(*prepared);
    HEXAD_TRY(left);
    // Once more without them: there are no more than m of them until that is an error.
    if (prepared.ok()) break;
  }
  HEXAD_TRY(prepared.status());
  const ZoneCreation& creation = *prepared;
  bool placed = false;
  const FillRecord fill = [&](LogRecord& record) -> Status {
    if (whom == ZoneFor::kCommits) HEXAD_TRY(writable());
    record.zones.push_back(creation);
    return {};
  };
  const auto add = [&] { placed = parts_.space->add_zone(creation).ok(); };
  const auto place = [&]() -> Result<Lsn> {
    // A commit that waits can wait for a checkpoint as well. All others take the room that is kept
    // for packing: room in the log comes from checkpoints, and those may be waiting for this zone.
    if (!waits) return commit_internal(fill, add, LogRoom::kPacking);
    // Nobody waits until the record is durable: what takes units of the zone stands behind it in
    // the log, and is durable only if it is (A10).
    HEXAD_TRY_ASSIGN(const Lsn at, try_internal(fill, add, LogRoom::kCommon, lacking));
    if (at > 0) HEXAD_TRY(lane_->wait_in_log(at));
    return at;
  };
  const Result<Lsn> lsn = place();
  if (placed) {
    // Also where an error came after it: the lane has stopped, and nothing more goes to the log.
    parts_.space->open_zone(creation.zone);
  } else {
    parts_.space->release_zone(creation);
  }
  return lsn.status();
}

}  // namespace hexad::core
