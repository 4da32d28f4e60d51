// From what a transaction's ops have made of the metadata to the record that says so.
#pragma once

#include <memory>
#include <vector>

#include "base/error.h"
#include "core/plan_state.h"
#include "core/planner.h"

namespace hexad::core {

// Larger removed objects are doomed: one image hands their pages to the background, which frees
// them in records of bounded size. Below, the removing transaction frees them itself.
inline constexpr std::uint64_t kDoomedSize = 64 * kPageSpan;  // bytes
// Of all objects that a transaction removes; those that are left over are doomed, too.
inline constexpr std::uint64_t kMaxReleasedPages = 1024;

// Pages that the transaction cuts into too many pieces: noted in the plan when writing them anew
// helps. Errors: kTooBig (it alone cuts a page into more pieces than a page may have).
Status check_pages(PlanState& state, const PlanContext& context, Plan& plan);

// All stored pages of the content go: their blobs are freed, their keys deleted.
void release_pages(Content& content, LogRecord& record);

// Post-images, frees and references, from the state after the last op. `adopted`: contents that
// took over the body of a writer. Errors: those of reading pages.
Status finish_plan(PlanState& state, const PlanContext& context,
                   const std::vector<std::shared_ptr<Content>>& adopted, Plan& plan);

}  // namespace hexad::core
