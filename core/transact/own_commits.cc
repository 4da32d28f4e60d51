#include "core/transact/own_commits.h"

#include "base/units.h"
#include "io/recall.h"

namespace hexad::core {

Result<Lsn> OwnCommits::try_commit(const FillRecord& fill, const std::function<void()>& placed,
                                   LogRoom room, Lacking& lacking) {
  const SequencerLock lock(parts_.order.sequencer);
  // The last checkpoint packs, too, when the store is closed for everybody else.
  if (room == LogRoom::kCommon) HEXAD_TRY(parts_.gate.check());
  const ReadPins::Pin pin = parts_.reads.pin_visible();  // YB4 of core/space/log_blobs.h
  Submission submission;
  submission.lsn = parts_.pipeline.next_lsn();
  submission.record.time = parts_.clock.wall_time();
  parts_.order.newest.fill_walk() = {kMostDeleted};
  const Status filled = fill(submission.record);
  parts_.order.newest.note_hold(submission.record.images.size() +
                                parts_.order.newest.fill_walk().deleted);
  if (!filled.ok() && parts_.order.newest.fill_walk().gave_up) {
    lacking.too_many_deleted = true;
    return Lsn{0};
  }
  HEXAD_TRY(filled);
  HEXAD_TRY(parts_.space.check_releases(submission.record));
  parts_.space.note_in_place(submission.record);
  submission.encoded = encode_own_part(submission.record, parts_.shape);
  HEXAD_TRY_ASSIGN(const bool reserved, parts_.pipeline.try_reserve(submission, room));
  if (!reserved) {
    lacking.log_bytes = parts_.pipeline.record_bound(submission);
    return Lsn{0};
  }
  const Lsn lsn = submission.lsn;
  parts_.order.newest.apply(lsn, submission.record.images);
  for (const LogPlace& release : submission.record.unplaced_releases) {
    parts_.space.release(parts_.log_blobs.release(release));
  }
  parts_.pipeline.enqueue(std::move(submission));
  if (placed) placed();
  return lsn;
}

Result<Lsn> OwnCommits::commit_internal(const FillRecord& fill, const std::function<void()>& placed,
                                        LogRoom room) {
  // Where this fails, whoever wanted it takes back what has no place. This one would have it.
  const io::Recall::Stay stay;
  for (int i = 0; i < kMaxAttempts; ++i) {
    Lacking lacking;
    HEXAD_TRY_ASSIGN(const Lsn lsn, try_commit(fill, placed, room, lacking));
    if (lsn > 0) {
      HEXAD_TRY(parts_.pipeline.wait_durable(lsn));
      return lsn;
    }
    if (room == LogRoom::kPacking) {
      return Error{ErrorCode::kNoSpace,
                   "the log has no room for packing what rides in it (" +
                       format_size(lacking.log_bytes) + ")",
                   "Close the store and open it again; run hexad fsck POOL."};
    }
    Attempt attempt;
    attempt.record_bytes = lacking.log_bytes;
    attempt.too_many_deleted = lacking.too_many_deleted;
    HEXAD_TRY(parts_.make_way(attempt));
  }
  return Error{ErrorCode::kConflict,
               "gave up after " + std::to_string(kMaxAttempts) +
                   " attempts: others take the room in the log before a change of the store's own "
                   "has its place",
               "Retry, or write from fewer threads."};
}

}  // namespace hexad::core
