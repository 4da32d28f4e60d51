// What the cleaner works with: the parts of one open store, and what it asks the engine for.
#pragma once

#include <cstdint>
#include <functional>
#include <set>

#include "base/error.h"
#include "base/ids.h"
#include "core/blob/blob_prepare.h"
#include "core/blob/blob_read.h"
#include "core/commit/internal_commits.h"
#include "core/read/store_reader.h"
#include "core/record/shape.h"
#include "core/space/log_blobs.h"
#include "core/space/members.h"
#include "core/space/space.h"
#include "core/stats/counters.h"
#include "ec/codec.h"
#include "io/device.h"
#include "io/executor.h"

namespace hexad::core {

// All outlive the cleaner.
struct CleanParts {
  io::Executor& executor;
  const StoreShape& shape;
  const ec::Codec& codec;
  io::IoQueue& queue;
  const Members& members;
  Space& space;
  const LogBlobs& log_blobs;
  Counters& counters;
  const BlobReader& blobs;
  const BlobPreparer& preparer;
  StoreReader& reads;
  InternalCommits& commits;
  std::function<Lsn()> checkpointed;   // the LSN of the last finished checkpoint
  std::function<Lsn()> newest;         // the last LSN
  std::function<Status()> checkpoint;  // makes one
  // Ends when none is under way, and what the last one has replaced can be used again.
  std::function<Status()> await_checkpoint;
  std::function<Status()> release;            // what has died by now can be used again (R9)
  std::function<std::uint64_t()> max_record;  // bytes
  std::function<Status(const std::set<DeviceId>&)> lose;  // R13
};

}  // namespace hexad::core
