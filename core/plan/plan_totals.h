// How many objects and bytes collections hold, and whether they may.
#pragma once

#include "base/error.h"
#include "core/plan/plan_state.h"
#include "core/plan/planner.h"

namespace hexad::core {

// From the state after the last op: the totals of each collection whose objects have become more,
// fewer, larger or smaller, or have come from another one, go to `plan.totals`. Errors: kNoSpace (a
// quota; names it), kTooBig (kMaxCollectionBytes), kCorruption (the totals are less than what is
// taken away), those of reading the metadata.
Status plan_totals(PlanState& state, Plan& plan);

}  // namespace hexad::core
