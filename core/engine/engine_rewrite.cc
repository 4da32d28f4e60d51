// Pages of an object that have been cut into too many pieces by small changes.
#include <algorithm>

#include "core/engine/engine.h"

namespace hexad::core {

// Writes a page as one blob in place of its many pieces: what the object shows stays the same, and
// so does its version. Holes in the page become zeros.
Status Engine::rewrite_page(const CrowdedPage& crowded) {
  HEXAD_TRY(lane_->wait_durable(lane_->next_lsn() - 1));
  const std::uint64_t begin = std::uint64_t{crowded.page} * kPageSpan;
  Transaction transaction;
  {
    // Let go before the commit, which takes states of its own.
    HEXAD_TRY_ASSIGN(ReadState state, reads_->read_state());
    HEXAD_TRY_ASSIGN(const CollectionRecord collection,
                     reads_->find_collection(*state.view, crowded.collection));
    HEXAD_TRY_ASSIGN(const ObjectRecord record,
                     reads_->find_object(*state.view, crowded.collection, crowded.name));
    if (begin >= record.size) return {};
    Bytes bytes(std::min<std::uint64_t>(kPageSpan, record.size - begin));
    HEXAD_TRY(reads_->read_range(*state.view, record, begin, bytes));
    transaction.expect_version_in(crowded.collection, crowded.name, record.version,
                                  collection.space_of(crowded.name));
    transaction.write(crowded.collection, crowded.name, begin, bytes,
                      static_cast<Hint>(record.hint));
  }
  HEXAD_TRY_ASSIGN(PreparedOps prepared, prepare(transaction));
  Submission submission;
  Lsn rests_on = 0;
  const Status status = sequence(transaction, prepared, submission, &rests_on, Author::kEngine);
  // Somebody has changed the object meanwhile: whoever wanted this looks again.
  if (!status.ok() && status.error().code == ErrorCode::kConflict) return {};
  HEXAD_TRY(status);
  return lane_->wait_durable(submission.lsn);
}

}  // namespace hexad::core
