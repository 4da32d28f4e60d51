// How transactions come in and are answered.
#pragma once

#include <cstdint>
#include <memory>

#include "base/error.h"
#include "core/api/commit_callback.h"
#include "core/api/commit_options.h"
#include "core/api/options.h"
#include "core/api/transaction.h"
#include "core/commit/commit_pipeline.h"
#include "core/commit/in_flight_budget.h"
#include "core/job/job_scheduler.h"
#include "core/jobs/seal_job.h"
#include "core/plan/staged_object.h"
#include "core/stats/counters.h"
#include "core/transact/committer.h"
#include "core/transact/op_preparer.h"
#include "core/transact/write_gate.h"
#include "io/executor.h"

namespace hexad::core {

class Submitter {
 public:
  // All outlive it.
  struct Parts {
    io::Executor& executor;
    const RuntimeOptions& options;
    const WriteGate& gate;
    CommitPipeline& pipeline;
    Counters& counters;
    SealJob& sealing;
    JobScheduler& jobs;
    const StagedHome& home;  // of writers of this store
    OpPreparer& preparer;
    Committer& committer;
  };
  explicit Submitter(const Parts& parts);

  Result<Lsn> commit(Transaction&& transaction, const CommitOptions& options);
  // What it throws, it throws before `done` may have run, and before anything has a place.
  void submit(Transaction&& transaction, const CommitCallback& done, const CommitOptions& options);
  Status sync();

 private:
  Status acceptable(const Transaction& transaction, Durability durability) const;
  // Buffered commits are waiting: seals them soon.
  void seal_soon();

  const Parts parts_;
  InFlightBudget budget_;  // buffered commits hold some of it until they are durable
};

}  // namespace hexad::core
