// The guards of a transaction, against the state before it.
#pragma once

#include "base/error.h"
#include "core/api/transaction.h"
#include "core/plan/plan_state.h"
#include "core/plan/planner.h"
#include "core/plan/prepared.h"

namespace hexad::core {

// Evaluates all guards, in the order of the ops. Before any op is applied to `state`. An
// expect_bytes whose comparison was made with another version than the object has now is noted in
// `plan.redo`: then nothing is decided yet, unless another guard fails.
// Errors: kConflict (names the object and what differs), those of reading the metadata.
Status check_guards(const Transaction& transaction, const PreparedOps& prepared, PlanState& state,
                    Plan& plan);

}  // namespace hexad::core
