// The pages of an object with very many of them, or of a range of it, copied for a clone
// (CopiedPages of core/plan/prepared.h). Beside the commits, in records of bounded size: each gives
// the blobs of some pages share ids, if they have none, and writes the pages a second time under a
// body that no object names. That has a writer key until the clone's transaction gives the body to
// an object, so what a crash, or an error here, leaves of it is taken back.
// doc/decisions/026-cut-pages.md
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "core/commit/commit_pipeline.h"
#include "core/commit/internal_commits.h"
#include "core/job/errands.h"
#include "core/jobs/deletion_job.h"
#include "core/metadata/metadata.h"
#include "core/plan/prepared.h"
#include "core/plan/shifted_range.h"
#include "core/record/shape.h"
#include "core/space/log_blobs.h"
#include "core/transact/id_source.h"
#include "core/transact/order.h"

namespace hexad::core {

class PageCopier {
 public:
  // All outlive it.
  struct Parts {
    Order& order;
    CommitPipeline& pipeline;
    Metadata& metadata;
    const LogBlobs& log_blobs;
    const RecordShape& shape;
    IdSource& ids;
    InternalCommits& commits;
    DeletionJob& deletions;  // of copies that nobody takes
    Errands& errands;
  };
  explicit PageCopier(const Parts& parts) : parts_(parts) {}

  // The pages of a body for a clone of the range; `copied`: what there is of a copy, or null. An
  // errand where the thread may be called back. Under no lock.
  Result<std::shared_ptr<CopiedPages>> copy(BodyId from, const ShiftedRange& range,
                                            std::shared_ptr<CopiedPages> copied);

 private:
  struct Step;

  Result<std::shared_ptr<CopiedPages>> copy_here(BodyId from, const ShiftedRange& range,
                                                 std::shared_ptr<CopiedPages> copied);
  std::shared_ptr<CopiedPages> begin(BodyId from, const ShiftedRange& range);
  Status copy_some(CopiedPages& copied);
  Status copy_stale(Step& step);
  Status copy_next(Step& step);
  Status copy_page(std::uint32_t page, Step& step);
  Result<const ExtentList*> source_page(std::uint32_t page, Step& step);
  Result<const ExtentList*> keep_source(std::uint32_t page, std::string_view value, Step& step);

  const Parts parts_;
};

}  // namespace hexad::core
