// What was freed and nobody looks at any more comes back (R9).
#pragma once

#include "core/cache/read_pins.h"
#include "core/commit/commit_pipeline.h"
#include "core/space/log_blobs.h"
#include "core/space/space.h"

namespace hexad::core {

class Reclaimer {
 public:
  // All outlive it.
  Reclaimer(CommitPipeline& pipeline, ReadPins& pins, Space& space, LogBlobs& log_blobs)
      : pipeline_(pipeline), pins_(pins), space_(space), log_blobs_(log_blobs) {}

  // Returns the oldest state that a read looks at which has just begun, or is short; that of now
  // where there is none. Any thread.
  Lsn reclaim();

 private:
  CommitPipeline& pipeline_;
  ReadPins& pins_;
  Space& space_;
  LogBlobs& log_blobs_;
};

}  // namespace hexad::core
