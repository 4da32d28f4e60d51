// Repeats a transaction until it has its place in the order: what a try lacked is brought about
// between two of them, without the sequencer's lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "core/api/transaction.h"
#include "core/commit/commit_pipeline.h"
#include "core/job/errands.h"
#include "core/metadata/metadata.h"
#include "core/plan/planner.h"
#include "core/plan/prepared.h"
#include "core/read/store_reader.h"
#include "core/record/shape.h"
#include "core/space/space.h"
#include "core/stats/counters.h"
#include "core/transact/op_preparer.h"
#include "core/transact/order.h"
#include "core/transact/plan_rehearsal.h"
#include "core/transact/room_maker.h"
#include "core/transact/transaction_placer.h"
#include "core/transact/write_gate.h"

namespace hexad::core {

class Committer {
 public:
  // All outlive it.
  struct Parts {
    Order& order;
    const WriteGate& gate;
    CommitPipeline& pipeline;
    const StoreShape& shape;
    Metadata& metadata;
    Space& space;
    Counters& counters;
    StoreReader& reads;
    Errands& errands;
    OpPreparer& preparer;
    PlanRehearsal& rehearsal;
    TransactionPlacer& placer;
    RoomMaker& room;
  };
  enum class Author : std::uint8_t { kUser, kEngine };

  explicit Committer(const Parts& parts) : parts_(parts) {}

  // Until the transaction has its place or has failed. `depends_on`: the LSN that must be durable
  // before a failure may be told.
  Status sequence(const Transaction& transaction, PreparedOps& prepared, Submission& submission,
                  Lsn* depends_on, Author author = Author::kUser);

 private:
  struct Cuts;

  // For an attempt that found no run for some piece, nor slabs for another zone: the pieces are cut
  // shorter and prepared again where there are shorter runs enough. False: there are not.
  Result<bool> cut_shorter(const Transaction& transaction, PreparedOps& prepared, Cuts& cuts);
  void count_cuts(const Cuts& cuts, std::size_t pieces);
  // Writes a page as one blob in place of its many pieces: what the object shows stays the same,
  // and so does its version. Holes in the page become zeros.
  Status rewrite_page(const CrowdedPage& crowded);

  const Parts parts_;
};

}  // namespace hexad::core
