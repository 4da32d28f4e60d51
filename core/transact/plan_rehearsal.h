// What a transaction will need of the metadata, read before it asks for its place in the order:
// while there is no index on the fast tier the runs are asked, which lie on the devices of the
// pool, and nobody may wait for those under the sequencer's lock (C12 of core/commit/sequencer.h).
#pragma once

#include "base/error.h"
#include "core/api/transaction.h"
#include "core/commit/commit_pipeline.h"
#include "core/metadata/metadata.h"
#include "core/plan/prepared.h"
#include "core/read/store_reader.h"
#include "core/transact/order.h"
#include "core/transact/plan_basis.h"

namespace hexad::core {

class PlanRehearsal {
 public:
  // All outlive it.
  struct Parts {
    Order& order;
    CommitPipeline& pipeline;
    Metadata& metadata;
    StoreReader& reads;
    PlanBasis basis;
  };
  explicit PlanRehearsal(const Parts& parts) : parts_(parts) {}

  // What every plan asks for: of collections and objects that ops name.
  Status warm_names(const Transaction& transaction, WarmKeys& warm);
  // All that the plan would ask for just now. Names and places of blobs are others then.
  void rehearse(const Transaction& transaction, PreparedOps& prepared, WarmKeys& warm);

 private:
  const Parts parts_;
};

}  // namespace hexad::core
