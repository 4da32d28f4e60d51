// What a transaction makes of the pages that are cut off (core/record/page_cuts.h): the cuts in the
// records, and the marks by which the background finds them.
#pragma once

#include "base/error.h"
#include "core/plan/plan_state.h"
#include "core/plan/planner.h"

namespace hexad::core {

// After the last op: takes the pages that show something again out of the cuts. Where that leaves
// more than kMaxPageCuts, bodies whose older cuts are in the way are noted in the plan. Errors:
// kTooBig (the transaction alone makes so many).
Status check_cuts(PlanState& state, Plan& plan);

// The marks that the metadata gets in place of those that it has, and a word to the background.
void emit_cuts(const ObjectContent& content, Plan& plan);

}  // namespace hexad::core
