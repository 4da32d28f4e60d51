// Slabs that move from one device to another, in the background and when they are asked to:
// core/clean/slab_mover.h.
#pragma once

#include <cstdint>
#include <functional>

#include "base/error.h"
#include "core/api/types.h"
#include "core/clean/slab_mover.h"
#include "core/devices/device_parts.h"
#include "core/jobs/slab_job.h"
#include "io/clock.h"

namespace hexad::core {

class SlabMoves {
 public:
  struct Hooks {
    std::function<Status()> make_zone;     // one more, under no lock
    std::function<void()> reclaim;         // what was freed and nobody looks at comes back
    std::function<void()> start_catch_up;  // what is filling is given what it lacks
  };
  // They outlive it.
  SlabMoves(const DeviceParts& parts, Hooks hooks);

  // Slabs may have to be moved, from `wait` on.
  void want(io::Nanos wait = 0);
  // As Store::move_slabs().
  Result<MoveReport> move(const MoveOptions& options);
  // What has been left is free when a block says that the checkpoint is durable which says so (R9).
  // Without room for a block the next one says so.
  Status release_left();
  SlabMover& mover() { return mover_; }
  SlabJob& job() { return job_; }

 private:
  SlabMover::Hooks mover_hooks();
  Result<SlabMover::Round> move_some(const std::function<bool(std::uint64_t)>& go_on);

  const DeviceParts& parts_;
  const Hooks hooks_;
  SlabMover mover_;
  SlabJob job_;
};

}  // namespace hexad::core
