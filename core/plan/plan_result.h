// From what a transaction's ops have made of the metadata to the record that says so.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "core/plan/plan_state.h"
#include "core/plan/planner.h"

namespace hexad::core {

// The deletion of larger removed objects is deferred: one image hands their pages to the
// background, which frees them in records of bounded size. Below, the removing transaction frees
// them itself.
inline constexpr std::uint64_t kDeferredDeletionSize = 64 * kPageSpan;  // bytes
// Of all objects that a transaction removes; those that are left over wait for it, too.
inline constexpr std::uint64_t kMaxReleasedPages = 1024;

// The name of the collection that the object under the key was in before the transaction; nothing:
// none that was there then, or the key is no object's.
std::optional<std::string> collection_before(const PlanState& state, std::string_view key);

// In the plan: this page of the object, if that was there before the transaction, is to be written
// anew.
void note_crowded(PlanState& state, const ObjectContent& content, std::uint32_t index, Plan& plan);

// Pages that the transaction cuts into too many pieces: noted in the plan when writing them anew
// helps. Errors: kTooBig (it alone cuts a page into more pieces than a page may have).
Status check_pages(PlanState& state, const PlanContext& context, Plan& plan);

// All stored pages of the content go: what only they own is freed, their keys are deleted.
void release_pages(ObjectContent& content, BlobOwners& owners, LogRecord& record);

// Post-images, frees and references, from the state after the last op. `adopted`: contents that
// took over the body of a writer. Errors: those of reading pages.
Status finish_plan(PlanState& state, PlanSource& source, const PreparedOps& prepared,
                   const PlanContext& context, const std::vector<ObjectContent*>& adopted,
                   Plan& plan);

}  // namespace hexad::core
