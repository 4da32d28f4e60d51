// What an attempt lacked, or met, is brought about: room in the log, space, layers that are merged,
// cuts that are reclaimed, deleted keys that a checkpoint takes away. Under no lock.
#pragma once

#include "base/error.h"
#include "core/job/errands.h"
#include "core/jobs/checkpointer.h"
#include "core/jobs/deletion_job.h"
#include "core/transact/attempt.h"
#include "core/transact/layer_merger.h"
#include "core/transact/log_trimmer.h"
#include "core/transact/space_finder.h"

namespace hexad::core {

class RoomMaker {
 public:
  // All outlive it.
  struct Parts {
    Errands& errands;
    Checkpointer& checkpointer;
    DeletionJob& deletions;
    LayerMerger& layers;
    LogTrimmer& log;
    SpaceFinder& space;
  };
  explicit RoomMaker(const Parts& parts) : parts_(parts) {}

  // An errand where the thread may be called back. Errors: whoever made the attempt can do nothing
  // about them.
  Status make_way(const Attempt& attempt);

 private:
  Status make_way_apart(const Attempt& attempt);

  const Parts parts_;
};

}  // namespace hexad::core
