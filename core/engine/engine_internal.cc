// Changes of the store's own on their way to the lane, and space for those who are no transaction.
#include <utility>

#include "base/units.h"
#include "core/blob/piece_cut.h"
#include "core/engine/attempt.h"
#include "core/engine/engine.h"
#include "io/recall.h"

namespace hexad::core {

Result<Lsn> Engine::try_internal(const FillRecord& fill, const std::function<void()>& placed,
                                 LogRoom room, Lacking& lacking) {
  const SequencerLock lock(sequencer_);
  // The last checkpoint packs, too, when the store is closed for everybody else.
  if (room == LogRoom::kCommon) HEXAD_TRY(writable());
  const ReadPins::Pin pin = reads_->pin_visible();  // YB4 of core/space/log_blobs.h
  Submission submission;
  submission.lsn = lane_->next_lsn();
  submission.record.time = parts_.system->clock().wall_time();
  newest_.fill_walk() = {kMostDeleted};
  const Status filled = fill(submission.record);
  newest_.note_hold(submission.record.images.size() + newest_.fill_walk().deleted);
  if (!filled.ok() && newest_.fill_walk().gave_up) {
    lacking.too_many_deleted = true;
    return Lsn{0};
  }
  HEXAD_TRY(filled);
  HEXAD_TRY(parts_.space->check_deaths(submission.record));
  parts_.space->note_in_place(submission.record);
  submission.encoded = encode_own_part(submission.record, parts_.shape->record);
  HEXAD_TRY_ASSIGN(const bool reserved, lane_->try_reserve(submission, room));
  if (!reserved) {
    lacking.log_bytes = lane_->record_bound(submission);
    return Lsn{0};
  }
  const Lsn lsn = submission.lsn;
  newest_.apply(lsn, submission.record.images);
  for (const LogPlace& death : submission.record.young_deaths) {
    parts_.space->give_back(parts_.log_blobs->kill(death));
  }
  lane_->enqueue(std::move(submission));
  if (placed) placed();
  return lsn;
}

Result<Lsn> Engine::commit_internal(const FillRecord& fill, const std::function<void()>& placed,
                                    LogRoom room) {
  // Where this fails, whoever wanted it takes back what has no place. This one would have it.
  const io::Recall::Stay stay;
  for (int i = 0; i < kMaxAttempts; ++i) {
    Lacking lacking;
    HEXAD_TRY_ASSIGN(const Lsn lsn, try_internal(fill, placed, room, lacking));
    if (lsn > 0) {
      HEXAD_TRY(lane_->wait_durable(lsn));
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
    HEXAD_TRY(make_way(attempt));
  }
  return Error{ErrorCode::kConflict,
               "gave up after " + std::to_string(kMaxAttempts) +
                   " attempts: others take the room in the log before a change of the store's own "
                   "has its place",
               "Retry, or write from fewer threads."};
}

Result<alloc::Extent> Engine::allocate_for_stream(std::uint32_t units, std::uint32_t shortest,
                                                  std::uint32_t& cut) {
  cut = 0;
  io::Nanos patience = kPatienceWithReads;
  int packings = kMaxPackings;
  for (int i = 0; i < kMaxAttempts; ++i) {
    Attempt attempt;
    attempt.tries = i;
    attempt.patience = &patience;
    attempt.packings = &packings;
    Result<alloc::Extent> extent = [&]() -> Result<alloc::Extent> {
      if (!sequencer_.lock_unless_recalled()) return called_back_early();
      const SequencerLock lock(sequencer_, std::adopt_lock);
      return allocate_locked(units, attempt);
    }();
    if (extent.ok()) return extent;
    if (!attempt.no_space) return extent;
    if (attempt.no_space && !attempt.wants_zone) {
      const std::vector<std::uint32_t> runs = parts_.space->spare_runs(units);
      cut = choose_cut({{&units, 1}, runs, kMostCuts, shortest});
      if (cut > 0) return extent;
    }
    HEXAD_TRY(unplaced(make_way(attempt)));
  }
  return Error{ErrorCode::kNoSpace, "no space after many attempts", ""};
}

}  // namespace hexad::core
