// Gives transactions their places in the order: allocates, plans, draws the LSN, applies to the
// memtable and enqueues, all under the sequencer's lock.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/error.h"
#include "core/api/transaction.h"
#include "core/clean/fragmented_lists.h"
#include "core/commit/commit_pipeline.h"
#include "core/commit/stripe_placer.h"
#include "core/jobs/deletion_job.h"
#include "core/plan/plan_room.h"
#include "core/plan/prepared.h"
#include "core/read/store_reader.h"
#include "core/record/shape.h"
#include "core/space/log_blobs.h"
#include "core/space/space.h"
#include "core/stats/counters.h"
#include "core/transact/attempt.h"
#include "core/transact/id_source.h"
#include "core/transact/order.h"
#include "core/transact/plan_basis.h"
#include "core/transact/write_gate.h"

namespace hexad::core {

// What became of a try to give a transaction its place in the order; what it lacked stands in the
// attempt.
enum class Outcome : std::uint8_t {
  kSequenced,   // it has its place
  kRedo,        // some ops have to be prepared again
  kFragmented,  // pages have too many pieces: they are to be compacted first
  kLayered,     // omaps have too many layers: some are to be merged first
  kCut,         // what is cut off of bodies is to be reclaimed first
  kCold,        // something of the runs is to be read first
  kTombstones,  // the plan met too many keys that were deleted: a checkpoint takes them away
  kNeedsRoom,   // in the log, or space
};

class TransactionPlacer {
 public:
  // All outlive it.
  struct Parts {
    const WriteGate& gate;
    IdSource& ids;
    StoreReader& reads;
    CommitPipeline& pipeline;
    const StoreShape& shape;
    Space& space;
    LogBlobs& log_blobs;
    const StripePlacer& placer;
    FragmentedLists& fragmented;
    DeletionJob& deletions;
    Counters& counters;
    PlanBasis basis;
  };
  explicit TransactionPlacer(const Parts& parts) : parts_(parts) {}

  // One try, under the sequencer's lock. Unless it is sequenced nothing is left. Errors: nothing
  // can be done about them here; nothing is left of the transaction.
  Result<Outcome> place(Order& order, const Transaction& transaction, PreparedOps& prepared,
                        Submission& submission, Attempt& attempt) HEXAD_REQUIRES(order.sequencer);
  // Whether a user's transaction has got its place since somebody has asked. Any thread.
  bool has_placed() { return placed_.exchange(false, std::memory_order_relaxed); }

 private:
  Result<Outcome> plan_and_place(Order& order, const Transaction& transaction,
                                 PreparedOps& prepared, Submission& submission, Attempt& attempt)
      HEXAD_REQUIRES(order.sequencer);
  Status place_ahead(Submission& submission, Attempt& attempt);
  Status take_places(const PlacementPlan& plan, Submission& submission, Attempt& attempt);

  const Parts parts_;
  PlanRoom room_;  // of whoever holds the sequencer's lock
  std::atomic<bool> placed_{false};
};

}  // namespace hexad::core
