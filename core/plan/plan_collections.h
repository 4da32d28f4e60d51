// The ops on whole collections: create, remove, split, merge, and what is set on them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "core/api/transaction.h"
#include "core/plan/plan_state.h"
#include "core/plan/planner.h"
#include "core/plan/prepared.h"
#include "core/record/name_parts.h"

namespace hexad::core {

// Errors of the ops: those that core/api/transaction.h gives, and those of reading the metadata.
class CollectionOps {
 public:
  // All outlive it.
  CollectionOps(const PlanContext& context, PlanSource& source, PlanState& state, Plan& plan)
      : context_(context), source_(source), state_(state), plan_(plan) {}

  Status create(const TransactionOp& op);
  Status remove(const TransactionOp& op);
  // Policy or quota.
  Status set(const TransactionOp& op);
  // The range of names changes hands with all objects in it; what comes back for it is empty (NR2).
  // Where the objects have to be counted first, that is noted in the plan, and nothing else has
  // happened: the ops behind it are not to be applied.
  Status split(const TransactionOp& op, const PreparedOp& prepared, std::size_t index);
  Status merge(const TransactionOp& op);
  // After the last op: the image of the next collection's id, where one was drawn.
  void finish();

 private:
  // As it was counted beside the commits; nothing: it was not, or not of these names.
  static std::optional<CollectionTotals> count_of(const std::vector<NameRange>& ranges,
                                                  const PreparedOp& prepared);
  Result<bool> has_object(const std::vector<NameRange>& ranges);
  // The same names in two spaces: what has objects in turn takes turns.
  Status merge_range(const TransactionOp& op, const NameRange& theirs, const NameRange& mine,
                     std::vector<NameRange>& merged);

  const PlanContext& context_;
  PlanSource& source_;
  PlanState& state_;
  Plan& plan_;
  CollectionId next_id_ = 0;  // 0: not needed so far
};

}  // namespace hexad::core
