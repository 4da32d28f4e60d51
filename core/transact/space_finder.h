// Space for an attempt that found none: a zone, or space that is freed but not yet reusable.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "base/error.h"
#include "core/cache/read_pins.h"
#include "core/clean/cleaner.h"
#include "core/clean/slab_mover.h"
#include "core/commit/commit_pipeline.h"
#include "core/jobs/checkpointer.h"
#include "core/jobs/deletion_job.h"
#include "core/membership/membership.h"
#include "core/record/shape.h"
#include "core/runs/run_mergers.h"
#include "core/space/log_blobs.h"
#include "core/space/space.h"
#include "core/transact/attempt.h"
#include "core/transact/log_trimmer.h"
#include "core/transact/reclaimer.h"
#include "core/transact/space_waits.h"
#include "core/transact/zone_maker.h"

namespace hexad::core {

class SpaceFinder {
 public:
  // All outlive it.
  struct Parts {
    const StoreShape& shape;
    CommitPipeline& pipeline;
    Space& space;
    LogBlobs& log_blobs;
    ReadPins& pins;
    Membership& membership;
    Checkpointer& checkpointer;
    DeletionJob& deletions;
    RunMergers& mergers;
    Cleaner& cleaner;
    SlabMover& slab_mover;
    Reclaimer& reclaimer;
    ZoneMaker& zones;
    LogTrimmer& log;
    SpaceWaits& waits;
  };
  struct Hooks {
    std::function<void(const Status&)> note_cleaning;  // that has failed
    std::function<std::string()> describe_held;        // by readers of old versions; empty: nothing
  };
  SpaceFinder(const Parts& parts, Hooks hooks) : parts_(parts), hooks_(std::move(hooks)) {}

  // There may be more than the attempt found: it is to be repeated. Errors: there is none, and why.
  Status find(const Attempt& attempt);

 private:
  Status make_zone(const Attempt& attempt);
  // A checkpoint where payloads of `least` bytes or more ride in the log, which packs them all.
  Status pack(std::uint64_t least);
  bool has_more(const Attempt& attempt) const;

  const Parts parts_;
  const Hooks hooks_;
};

}  // namespace hexad::core
