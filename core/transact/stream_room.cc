#include "core/transact/stream_room.h"

#include <vector>

#include "core/blob/piece_cut.h"
#include "core/transact/attempt.h"

namespace hexad::core {

Result<alloc::Extent> StreamRoom::allocate(std::uint32_t units, std::uint32_t shortest,
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
      if (!order_.sequencer.lock_unless_recalled()) return WriteGate::called_back_early();
      const SequencerLock lock(order_.sequencer, std::adopt_lock);
      return attempt.allocate(units, space_, pipeline_);
    }();
    if (extent.ok()) return extent;
    if (!attempt.no_space) return extent;
    if (attempt.no_space && !attempt.wants_zone) {
      const std::vector<std::uint32_t> runs = space_.spare_runs(units);
      cut = choose_cut({{&units, 1}, runs, kMostCuts, shortest});
      if (cut > 0) return extent;
    }
    HEXAD_TRY(gate_.unsequenced(room_.make_way(attempt)));
  }
  return Error{ErrorCode::kNoSpace, "no space after many attempts", ""};
}

}  // namespace hexad::core
