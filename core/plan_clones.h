// The ops that make objects share what is stored: clone and clone_range.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "core/plan_state.h"
#include "core/planner.h"
#include "core/record.h"
#include "core/transaction.h"

namespace hexad::core {

// Errors of the ops: those that core/transaction.h gives, and those of reading the metadata. Pages
// and layers that are in the way are noted in the plan.
class CloneOps {
 public:
  // All outlive it.
  CloneOps(const PlanContext& context, PlanState& state, Plan& plan)
      : context_(context), state_(state), plan_(plan) {}

  Status clone(const TransactionOp& op);
  Status clone_range(const TransactionOp& op);

 private:
  Status load_for_clone(const TransactionOp& op, Content& source, std::uint32_t from,
                        std::uint32_t end);
  // The source's own omap becomes a layer, which is changed no more.
  Status freeze_omap(const TransactionOp& op, Content& source);
  // The layers that the metadata has can be merged; those that this transaction makes cannot.
  Status note_layered(const TransactionOp& op, const ObjectRecord& record);
  // What the source shows in the op's range, with share ids.
  Result<ExtentList> extents_for_clone(const TransactionOp& op, Content& source);
  // Into a hole, cut where the pages of this object begin.
  Status insert_cut(Content& content, const Extent& extent);
  // More inline bytes in a page than it may have: pages that were there before can be written anew,
  // in one piece and not inline, that of the target and those that they come from.
  Status check_inline(const TransactionOp& op, Content& target, Content& source);
  void note_inline(const Content& content, std::uint32_t index);

  const PlanContext& context_;
  PlanState& state_;
  Plan& plan_;
};

}  // namespace hexad::core
