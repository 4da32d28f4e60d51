// What those who change the devices of an open store are handed of its other parts.
#pragma once

#include <functional>

#include "base/error.h"
#include "core/api/options.h"
#include "core/commit/commit_pipeline.h"
#include "core/commit/internal_commits.h"
#include "core/job/job_scheduler.h"
#include "core/jobs/checkpointer.h"
#include "core/membership/device_history.h"
#include "core/membership/membership.h"
#include "core/record/shape.h"
#include "core/space/members.h"
#include "core/space/space.h"
#include "core/stats/counters.h"
#include "io/executor.h"
#include "io/system.h"

namespace hexad::core {

// All outlive those who have it. Of a store that is open for writing.
struct DeviceParts {
  io::System& system;
  const StoreShape& shape;
  const RuntimeOptions& options;
  bool memory_only;  // all of the store ends with it
  Members& members;
  Space& space;
  Counters& counters;
  CommitPipeline& pipeline;
  Membership& membership;
  DeviceHistory& history;
  Checkpointer& checkpointer;
  JobScheduler& jobs;
  InternalCommits& commits;
  io::Mutex& zone_mutex;             // while a zone is made
  std::function<Status()> writable;  // whether commits are taken
  std::function<bool()> is_closed;   // or about to be, with its last checkpoint

  io::Executor& executor() const { return system.executor(); }
  // close() may have come meanwhile, and its last checkpoint is the last root.
  Status still_open() const {
    if (!is_closed()) return {};
    return Error{ErrorCode::kClosed, "the store has been closed meanwhile", ""};
  }
  // A record of nothing, so that there is an LSN above the last checkpoint's.
  Status advance() const {
    return commits.commit_internal([](LogRecord&) { return Status(); }).status();
  }
};

}  // namespace hexad::core
