// Packing: what rode in the log gets a place in a stripe, so that a checkpoint can trim the log.
#pragma once

#include <vector>

#include "base/error.h"
#include "core/commit/commit_pipeline.h"
#include "core/commit/internal_commits.h"
#include "core/commit/stripe_placer.h"
#include "core/membership/membership.h"
#include "core/record/shape.h"
#include "core/space/log_blobs.h"
#include "core/space/members.h"
#include "core/space/space.h"
#include "core/stats/counters.h"
#include "core/transact/order.h"
#include "io/executor.h"

namespace hexad::core {

class Packer {
 public:
  // All outlive it.
  struct Parts {
    io::Executor& executor;
    const StoreShape& shape;
    Members& members;
    Space& space;
    LogBlobs& log_blobs;
    Counters& counters;
    Order& order;
    CommitPipeline& pipeline;
    const StripePlacer& placer;
    Membership& membership;
    InternalCommits& commits;
  };
  explicit Packer(const Parts& parts) : parts_(parts) {}

  // All there is. Precondition: no further payload goes into the log
  // (CommitPipeline::pause_payloads). Under the checkpoint's lock, so that nobody else packs.
  Status pack_payloads();

 private:
  Status pack_some(const std::vector<UnplacedBlob>& blobs);

  const Parts parts_;
};

}  // namespace hexad::core
