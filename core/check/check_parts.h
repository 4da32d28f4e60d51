// What fsck and scrub both look at and work with: parts of one open store.
#pragma once

#include <functional>

#include "core/blob/blob_read.h"
#include "core/blob/pack_check.h"
#include "core/membership/silent_devices.h"
#include "core/read/store_reader.h"
#include "core/record/shape.h"
#include "core/runs/run_catalogue.h"
#include "core/space/log_blobs.h"
#include "core/space/space.h"
#include "core/stats/counters.h"
#include "ec/codec.h"
#include "io/device.h"
#include "io/executor.h"

namespace hexad::core {

class PoolHeaders;

// All outlive who looks.
struct CheckParts {
  io::Executor& executor;
  io::IoQueue& queue;
  const StoreShape& shape;
  const ec::Codec& codec;
  Space& space;
  const LogBlobs& log_blobs;
  Counters& counters;
  const BlobReader& blobs;
  StoreReader& reads;
  RunCatalogue& runs;
  io::Mutex& checkpoints;  // Checkpointer::mutex(): held, it keeps runs and index as they are
  const SilentDevices& silence;
  PoolHeaders& headers;
  std::function<bool()> closed;  // nobody wants to know any more

  PackChecker packs() const { return {shape, codec, space, queue, counters}; }
};

}  // namespace hexad::core
