#include "core/transact/zone_maker.h"

#include <set>
#include <utility>

namespace hexad::core {

// The last checkpoint may need a zone, too, when the store is closed for everybody else.
Status ZoneMaker::make(For whom) {
  const io::Lock lock(mutex_);
  OwnCommits::Lacking lacking;
  return make_locked(whom, lacking);
}

Result<std::uint64_t> ZoneMaker::make_unless_more_than(std::uint64_t all_units) {
  const io::Lock lock(mutex_);
  OwnCommits::Lacking lacking;
  if (parts_.space.counters().total > all_units) return lacking.log_bytes;
  HEXAD_TRY(make_locked(For::kWaiting, lacking));
  return lacking.log_bytes;
}

// Not under the sequencer's lock: all but the record is I/O, and commits that have room go on.
Status ZoneMaker::make_locked(For whom, OwnCommits::Lacking& lacking) {
  // Before anything is written: what the last root names may be nobody's to touch.
  if (whom != For::kCheckpoint) HEXAD_TRY(parts_.gate.check());
  const bool waits = whom == For::kWaiting;
  const auto zeroing = waits ? Space::Zeroing::kNone : Space::Zeroing::kAhead;
  Result<ZoneCreation> prepared = Error{};
  for (std::set<DeviceId> failed;;) {
    prepared = parts_.space.prepare_zone(zeroing, &failed);
    if (failed.empty()) break;
    // Whoever has failed is told to have, whatever it was that failed.
    const Status left = parts_.membership.lose_devices(std::exchange(failed, {}));
    if (!left.ok() && prepared.ok()) parts_.space.release_zone(*prepared);
    HEXAD_TRY(left);
    // Once more without them: there are no more than m of them until that is an error.
    if (prepared.ok()) break;
  }
  HEXAD_TRY(prepared.status());
  const ZoneCreation& creation = *prepared;
  bool placed = false;
  const InternalCommits::FillRecord fill = [&](LogRecord& record) -> Status {
    if (whom == For::kCommits) HEXAD_TRY(parts_.gate.check());
    record.zones.push_back(creation);
    return {};
  };
  const auto add = [&] { placed = parts_.space.add_zone(creation).ok(); };
  const auto place = [&]() -> Result<Lsn> {
    // A commit that waits can wait for a checkpoint as well. All others take the room that is kept
    // for packing: room in the log comes from checkpoints, and those may be waiting for this zone.
    if (!waits) return parts_.commits.commit_internal(fill, add, LogRoom::kPacking);
    // Nobody waits until the record is durable: what takes units of the zone stands behind it in
    // the log, and is durable only if it is (A10).
    HEXAD_TRY_ASSIGN(const Lsn at, parts_.commits.try_commit(fill, add, LogRoom::kCommon, lacking));
    if (at > 0) HEXAD_TRY(parts_.pipeline.wait_in_log(at));
    return at;
  };
  const Result<Lsn> lsn = place();
  if (placed) {
    // Also where an error came after it: the pipeline has stopped, and nothing more goes to the
    // log.
    parts_.space.open_zone(creation.zone);
  } else {
    parts_.space.release_zone(creation);
  }
  return lsn.status();
}

}  // namespace hexad::core
