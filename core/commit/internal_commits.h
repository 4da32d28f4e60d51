// Changes of the metadata that the store makes for itself: no user has asked for them, and they
// take the way of transactions through the sequencer and the log.
#pragma once

#include <functional>
#include <string_view>

#include "base/error.h"
#include "core/api/types.h"
#include "core/commit/log_room.h"
#include "core/plan/planner.h"
#include "core/record/log_record.h"

namespace hexad::core {

// As a PlanSource: the newest state, under the sequencer's lock.
class InternalCommits : public PlanSource {
 public:
  // Fills in the record under the sequencer's lock, perhaps several times.
  using FillRecord = std::function<Status(LogRecord&)>;
  // Durable when it returns. `placed` runs once under the sequencer's lock when the record has its
  // LSN. Takes no lock that a checkpoint holds, but may wait for one. kPacking: an error instead of
  // a wait when even that room is not enough.
  virtual Result<Lsn> commit_internal(const FillRecord& fill, const std::function<void()>& placed,
                                      LogRoom room) = 0;
  Result<Lsn> commit_internal(const FillRecord& fill, const std::function<void()>& placed = {}) {
    return commit_internal(fill, placed, LogRoom::kCommon);
  }

  // scan_from() for those who fill in a record: as many deleted keys as one hold of the lock may
  // meet. Errors: those, and then commit_internal() takes a checkpoint and fills in anew.
  virtual Status scan_to_fill(std::string_view prefix, std::string_view from,
                              const Visit& visit) = 0;
};

}  // namespace hexad::core
