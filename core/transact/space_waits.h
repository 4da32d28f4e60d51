// Waits for space that comes back by itself.
#pragma once

#include <functional>
#include <utility>

#include "base/error.h"
#include "core/commit/commit_pipeline.h"
#include "core/space/space.h"
#include "core/transact/attempt.h"
#include "core/transact/reclaimer.h"
#include "core/transact/write_gate.h"
#include "io/executor.h"

namespace hexad::core {

class SpaceWaits {
 public:
  // All outlive it.
  struct Parts {
    io::Executor& executor;
    const WriteGate& gate;
    CommitPipeline& pipeline;
    Space& space;
    Reclaimer& reclaimer;
    std::function<Status()> release_left;  // slabs that zones have left (R9)
  };
  explicit SpaceWaits(Parts parts) : parts_(std::move(parts)) {}

  // For reads that have just begun, or are short. Whether there are more free units than the
  // attempt found.
  bool outlast_reads(const Attempt& attempt);
  // While slabs that zones have left are to be free in a moment; whether there is room then.
  bool outlast_moves(const Attempt& attempt);

 private:
  const Parts parts_;
};

}  // namespace hexad::core
