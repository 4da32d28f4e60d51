// What ops do to the pages of one object's content.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "core/api/transaction.h"
#include "core/plan/plan_state.h"
#include "core/plan/prepared.h"

namespace hexad::core {

// Errors of all: those of reading pages.

// The content of the op's object to fill anew, made when the object is missing. What has many pages
// is given up as a whole, without a look at them.
Result<ObjectContent*> emptied(PlanState& state, const TransactionOp& op);
// The prepared pieces become extents. Precondition: nothing is where they go.
Status place(PlanState& state, ObjectContent& content, const PreparedOp& prepared);
// The same in the place of whatever is where they go. Precondition: none of them is inline.
Status place_over(PlanState& state, ObjectContent& content, const PreparedOp& prepared);
// Drops everything from `from` on; the size stays.
Status drop_data(PlanState& state, ObjectContent& content, std::uint64_t from);
// Makes a hole; the size stays. Costs what a few pages do, however many the range holds: where
// there are more, they are cut off (core/record/page_cuts.h).
Status punch_range(PlanState& state, ObjectContent& content, std::uint64_t offset,
                   std::uint64_t length);

}  // namespace hexad::core
