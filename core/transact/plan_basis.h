// What every plan of a transaction of one store goes by.
#pragma once

#include <cstdint>

#include "compression/policy.h"
#include "core/plan/planner.h"
#include "core/record/shape.h"
#include "core/space/log_blobs.h"
#include "io/clock.h"

namespace hexad::core {

// All outlive it.
struct PlanBasis {
  io::Clock& clock;
  const RecordShape& shape;
  const compression::Policy& default_compression;  // of new collections
  const LogBlobs& log_blobs;
  std::uint64_t ranges_at_once;  // as PlanContext has it

  // For a transaction that gets this LSN, now; ids it has none to give.
  PlanContext context(Lsn lsn) const {
    PlanContext context;
    context.lsn = lsn;
    context.time = clock.wall_time();
    context.shape = shape;
    context.default_compression = default_compression;
    context.ranges_at_once = ranges_at_once;
    context.log_blobs = &log_blobs;
    return context;
  }
};

}  // namespace hexad::core
