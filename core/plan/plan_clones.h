// The ops that make objects share what is stored: clone and clone_range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "base/error.h"
#include "core/api/transaction.h"
#include "core/plan/plan_state.h"
#include "core/plan/planner.h"
#include "core/record/record.h"

namespace hexad::core {

// Errors of the ops: those that core/api/transaction.h gives, and those of reading the metadata.
// Pages and layers that are in the way are noted in the plan.
class CloneOps {
 public:
  // All outlive it.
  // `adopted`: contents that take over a body that no object had.
  CloneOps(const PlanContext& context, PlanState& state, Plan& plan,
           std::vector<ObjectContent*>& adopted)
      : context_(context), state_(state), plan_(plan), adopted_(adopted) {}

  // Where pages have to be copied first, that is noted in the plan, and nothing else has happened:
  // the ops behind it are not to be applied.
  Status clone(const TransactionOp& op, const PreparedOp& prepared, std::size_t index);
  // Behind the op at `index`, which has to wait for that: notes what clones behind it will ask for,
  // too, as far as the ops between say nothing of their sources. What they ask for in the end may
  // differ; then it is asked for again.
  Status foresee(const std::vector<TransactionOp>& ops, const PreparedOps& prepared,
                 std::size_t index);
  Status clone_range(const TransactionOp& op, const PreparedOp& prepared, std::size_t index);

 private:
  // Whether it can be shown page by page.
  Result<bool> is_few(ObjectContent& source);
  // Whether there are no more pages than `limit`, and than the transaction may still show.
  Result<bool> load_for_clone(ObjectContent& source, const PageRange& range, std::uint64_t limit);
  ObjectContent* page_by_page(ObjectContent& source);
  // Null: pages have to be copied first.
  Result<ObjectContent*> with_copy(const TransactionOp& op, ObjectContent& source,
                                   const PreparedOp& prepared);
  // The source's own omap becomes a layer, which is changed no more.
  Status freeze_omap(const TransactionOp& op, ObjectContent& source);
  // The layers that the metadata has can be merged; those that this transaction makes cannot.
  Status note_layered(const TransactionOp& op, const ObjectRecord& record);
  Error too_long(const TransactionOp& op, const ObjectContent& source) const;
  // A range that cannot be shown page by page: pages that were copied before, with what else the
  // destination shows.
  Status clone_long_range(const TransactionOp& op, ObjectContent& source, Slot& to,
                          const PreparedOp& prepared, std::size_t index);
  // Of the destination, those that show something besides the range. Nothing: there are too many.
  Result<std::optional<std::set<std::uint32_t>>> pages_beside(ObjectContent& target,
                                                              const ShiftedRange& range);
  // A page of the destination as it is in the end.
  Status compose_page(ObjectContent& copy, std::uint32_t index, ObjectContent& source,
                      ObjectContent& target, const ShiftedRange& range);
  // What the source shows in the op's range, with share ids.
  Result<ExtentList> extents_for_clone(const TransactionOp& op, ObjectContent& source);
  // Into a hole, cut where the pages of this object begin.
  Status insert_cut(ObjectContent& content, const Extent& extent);
  // More inline bytes in a page than it may have: pages that were there before can be written anew,
  // in one piece and not inline, that of the target and those that they come from.
  Status check_inline(const TransactionOp& op, ObjectContent& target, ObjectContent& source);
  void note_inline(ObjectContent& content, std::uint32_t index);

  const PlanContext& context_;
  PlanState& state_;
  Plan& plan_;
  std::vector<ObjectContent*>& adopted_;
  std::uint64_t pages_left_ = kMaxClonedPages;
};

}  // namespace hexad::core
